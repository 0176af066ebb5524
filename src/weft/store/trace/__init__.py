# SPDX-License-Identifier: BSD-3-Clause
"""Traces of applications: the records as the ranks wrote them, and the Parquet files that analysis reads."""
