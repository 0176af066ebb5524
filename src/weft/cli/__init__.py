# SPDX-License-Identifier: BSD-3-Clause
"""The command line: one file a verb, no logic."""
