# SPDX-License-Identifier: BSD-3-Clause
# The tests of the ladder: plain exchanges, their rounds, and what is recorded of them.
weft_test(ladder)
