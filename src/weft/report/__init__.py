# SPDX-License-Identifier: BSD-3-Clause
"""What a reader sees of a run: tables, figures, one offline page."""
