# SPDX-License-Identifier: BSD-3-Clause
"""Lower bounds of a time: one equation, one place."""
