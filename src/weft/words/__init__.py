# SPDX-License-Identifier: BSD-3-Clause
"""Claims in words: `say` gives the label, value and note of each; nobody else writes sentences about results."""
