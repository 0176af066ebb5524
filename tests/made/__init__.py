# SPDX-License-Identifier: BSD-3-Clause
"""Makers of test data: runs, cells, clusters and samples that nobody measured."""
