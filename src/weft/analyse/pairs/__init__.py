# SPDX-License-Identifier: BSD-3-Clause
"""Analysis of all pairs, from their tables: by hop class, as matrices, contention, slow pairs, and their causes."""
