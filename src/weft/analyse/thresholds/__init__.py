# SPDX-License-Identifier: BSD-3-Clause
"""Eager limits and algorithm switches: sizes at which the time against size steps or bends, and the knob there."""
