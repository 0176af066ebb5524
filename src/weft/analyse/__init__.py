# SPDX-License-Identifier: BSD-3-Clause
"""Analysis: from samples to tables, in Ibis expressions only; a URL chooses the engine."""
