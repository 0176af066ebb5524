# SPDX-License-Identifier: BSD-3-Clause
"""Analysis of all pairs: tables by hop class, matrices, contention, slow pairs, and their causes.

Everything here reads only ``tables/pairs.parquet``, ``tables/pair_histogram.parquet`` and ``tables/ranks.parquet``.
Statistics are Ibis expressions; only the small node matrix is decomposed with NumPy.
"""
