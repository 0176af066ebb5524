# SPDX-License-Identifier: BSD-3-Clause
"""The built-in kernel ``floor``: what a node and an empty operation can do at best."""
