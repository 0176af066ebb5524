# SPDX-License-Identifier: BSD-3-Clause
# The tests of the kernel `replay`: where its messages stand, how long it computes, what its counts can count.
weft_test(replay RANKS 1 2)
