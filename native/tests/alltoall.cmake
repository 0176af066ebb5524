# SPDX-License-Identifier: BSD-3-Clause
# The tests of the all-to-all library: a folder of their own.
add_subdirectory(alltoall)
