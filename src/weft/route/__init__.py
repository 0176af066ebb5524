# SPDX-License-Identifier: BSD-3-Clause
"""Routes of real fabrics: which link limits which traffic, what is wrong with the tables, and better ones."""
