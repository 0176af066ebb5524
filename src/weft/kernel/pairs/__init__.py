# SPDX-License-Identifier: BSD-3-Clause
"""The kernel ``pairs``: latency of every pair of ranks."""
