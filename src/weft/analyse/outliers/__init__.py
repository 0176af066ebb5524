# SPDX-License-Identifier: BSD-3-Clause
"""Which part of a machine is slow, from a few rounds of disjoint pairs."""
