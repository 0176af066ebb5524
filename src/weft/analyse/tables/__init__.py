# SPDX-License-Identifier: BSD-3-Clause
"""The tables that the analysis writes: files, columns, types of rows; the report reads nothing else of the analysis."""
