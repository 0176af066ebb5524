# SPDX-License-Identifier: BSD-3-Clause
"""Fitting of a few parameters of a machine to measured cells, and prediction of the others."""
