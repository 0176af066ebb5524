# SPDX-License-Identifier: BSD-3-Clause
"""The kernel ``interference``: a call of one job, alone and beside the traffic of another in the same launch."""
