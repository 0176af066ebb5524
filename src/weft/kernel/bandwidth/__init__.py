# SPDX-License-Identifier: BSD-3-Clause
"""The kernel ``bandwidth``: streams between two ranks of each class."""
