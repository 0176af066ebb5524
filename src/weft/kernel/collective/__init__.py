# SPDX-License-Identifier: BSD-3-Clause
"""The kernel ``collective``: MPI collectives over sizes and numbers of ranks."""
