# SPDX-License-Identifier: BSD-3-Clause
"""Fitting a few numbers of a machine to measured cells, and predicting the others."""
