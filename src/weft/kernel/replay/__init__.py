# SPDX-License-Identifier: BSD-3-Clause
"""The kernel ``replay``: the calls of a traced application, again."""
