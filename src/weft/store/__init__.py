# SPDX-License-Identifier: BSD-3-Clause
"""The store: cells as the kernels wrote them, and the Parquet files that analysis reads."""
