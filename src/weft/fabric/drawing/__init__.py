# SPDX-License-Identifier: BSD-3-Clause
"""Machines drawn: as text, and as a picture."""
