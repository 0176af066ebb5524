# SPDX-License-Identifier: BSD-3-Clause
"""Which part of a machine is slow: from the times of all pairs, or from a few rounds of disjoint ones."""
