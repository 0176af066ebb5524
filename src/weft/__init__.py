# SPDX-License-Identifier: BSD-3-Clause
"""Weft: is the interconnect the bottleneck, why, what would it do elsewhere, and what helps."""

__version__ = "0.1.0"
