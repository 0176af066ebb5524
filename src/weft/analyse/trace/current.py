# SPDX-License-Identifier: BSD-3-Clause
"""Tables of a trace that are there and current: what makes them is imported only where they are not."""

from weft.analyse.tables.traces import has_trace_tables
from weft.store.trace.folder import TraceFolder


def ensure_trace_tables(folder: TraceFolder, engine: str | None = None) -> None:
    """Make the tables of a converted trace where one is missing or of another analysis, or for an ``engine``."""
    if engine or not has_trace_tables(folder):
        from weft.analyse.trace.make import make_trace_tables

        make_trace_tables(folder, engine or "duckdb://")
