# SPDX-License-Identifier: BSD-3-Clause
"""Lower bounds of a time; each equation is written in one place."""
