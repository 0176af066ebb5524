# SPDX-License-Identifier: BSD-3-Clause
"""Intervals, quantiles, effective samples, and tests of ranks: formulas that know nothing of runs."""
