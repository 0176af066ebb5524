# SPDX-License-Identifier: BSD-3-Clause
"""Answers of traces as tables: times, matrix, late arrivals, phases, verdict."""
