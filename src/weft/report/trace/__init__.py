# SPDX-License-Identifier: BSD-3-Clause
"""What ``weft trace show`` prints and draws of a trace's tables."""
