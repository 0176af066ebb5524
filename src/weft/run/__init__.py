# SPDX-License-Identifier: BSD-3-Clause
"""Runs: walking the launches of a plan, recording failures, resuming after an interruption."""
