# SPDX-License-Identifier: BSD-3-Clause
"""Eager limits and algorithm switches: where time against size changes its course, and which knob is there."""
