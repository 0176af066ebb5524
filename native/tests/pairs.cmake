# SPDX-License-Identifier: BSD-3-Clause
# The tests of the kernel `pairs`.
foreach(noun pair_schedule pair_summary pair_retrial)
  weft_test(${noun} RANKS 1)
endforeach()
weft_test(pairs RANKS 1 2 3 4 5 8)
weft_test(pair_samples RANKS 2 3)
