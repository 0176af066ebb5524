# SPDX-License-Identifier: BSD-3-Clause
"""What the times of all pairs say: tables by hop class, matrices, contention, slow pairs, and who is to blame.

Everything here reads ``tables/pairs.parquet``, ``tables/pair_histogram.parquet`` and ``tables/ranks.parquet`` alone.
Statistics are Ibis expressions; only the decomposition of the matrix of nodes, which is small, is NumPy.
"""
