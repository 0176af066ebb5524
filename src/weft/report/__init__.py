# SPDX-License-Identifier: BSD-3-Clause
"""The report of a run: tables, figures, one offline page."""
