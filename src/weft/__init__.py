# SPDX-License-Identifier: BSD-3-Clause
"""Weft: is the interconnect the bottleneck, why, what would it do elsewhere, and what helps."""

from importlib.metadata import PackageNotFoundError, version

try:
    __version__ = version("weft")
except PackageNotFoundError:  # run from a checkout that was never installed
    __version__ = "0.1.0+uninstalled"
