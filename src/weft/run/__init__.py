# SPDX-License-Identifier: BSD-3-Clause
"""Runs: walking the launches of a plan, what failed, going on after an interruption."""
