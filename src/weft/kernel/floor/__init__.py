# SPDX-License-Identifier: BSD-3-Clause
"""The built-in kernel ``floor``: copy rates of a node, latency, and the cost of an empty operation."""
