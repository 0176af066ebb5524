# SPDX-License-Identifier: BSD-3-Clause
# The tests of the breakdown: plain exchanges, their rounds, and what is recorded of them.
weft_test(breakdown)
