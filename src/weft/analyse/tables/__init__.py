# SPDX-License-Identifier: BSD-3-Clause
"""The tables that the analysis writes: for each its file, its columns, and the type of its rows.

Nothing is computed here. The report reads these tables and nothing else of the analysis.
"""
