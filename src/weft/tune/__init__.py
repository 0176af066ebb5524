# SPDX-License-Identifier: BSD-3-Clause
"""Choosing an all-to-all by measurement: a study, its winners, a selection table."""
