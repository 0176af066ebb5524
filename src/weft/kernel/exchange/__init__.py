# SPDX-License-Identifier: BSD-3-Clause
"""The kernel ``exchange``: a parallel sort that maximises contention."""
