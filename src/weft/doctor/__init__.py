# SPDX-License-Identifier: BSD-3-Clause
"""``weft doctor``: what this host has and lacks, or whether a fabric works, and the command that helps."""
