# SPDX-License-Identifier: BSD-3-Clause
"""Comparing runs (METHOD 15): whether one is slower than the other, by how much, and with what confidence."""
