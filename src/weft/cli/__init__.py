# SPDX-License-Identifier: BSD-3-Clause
"""The command line: one file per verb, no logic."""
