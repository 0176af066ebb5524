# SPDX-License-Identifier: BSD-3-Clause
"""One traced application under many remedies: each a replay on a machine that differs in one thing."""
