# SPDX-License-Identifier: BSD-3-Clause
"""Comparisons as tables, sentences, JSON, figures and a page."""
