# SPDX-License-Identifier: BSD-3-Clause
"""Answers of traces as tables: times, matrix, late arrivals, phases, verdict. What makes them is imported if needed."""

from weft.analyse.tables.traces import has_trace_tables
from weft.store.trace.folder import TraceFolder


def ensure_trace_tables(folder: TraceFolder, engine: str | None = None) -> None:
    """Make the tables of a converted trace where one is missing or of another analysis, or for an ``engine``."""
    if engine or not has_trace_tables(folder):
        from weft.analyse.trace.make import make_trace_tables

        make_trace_tables(folder, engine or "duckdb://")
