# SPDX-License-Identifier: BSD-3-Clause
"""MPI libraries: finding one, how it starts ranks, its algorithms and its knobs."""
