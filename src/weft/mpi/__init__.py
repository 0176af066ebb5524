# SPDX-License-Identifier: BSD-3-Clause
"""What MPI libraries are: finding one, how it starts ranks, its algorithms and its knobs."""
