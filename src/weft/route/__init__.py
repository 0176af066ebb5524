# SPDX-License-Identifier: BSD-3-Clause
"""Routes of real fabrics: the link that limits a traffic pattern, faults of the tables, and better tables."""
