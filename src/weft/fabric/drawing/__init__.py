# SPDX-License-Identifier: BSD-3-Clause
"""Drawings of fabrics, as text and as pictures."""
