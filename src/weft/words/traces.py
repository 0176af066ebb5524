# SPDX-License-Identifier: BSD-3-Clause
"""Doubts about a trace in words."""

from weft.analyse.tables.traces import TraceDoubt, TraceDoubtRow
from weft.format import percent

TEXTS: dict[TraceDoubt, str] = {
    "oversubscribed": "more ranks than cores: {where}",
    "core": "bound to the same cores: {where}",
    "lost": "ranks waited for a core for {share} of their time",
    "load": "other processes used {share} of the ranks' cores",
    "steal": "CPU steal took {share} of the hosts' cores",
    "tracer": "the tracer took {share} of the time",
    "partial": "{share} of the ranks have a partial trace",
    "unmeasured": "lost time was not recorded for {share} of the ranks",
}
NEXT: dict[TraceDoubt, str] = {
    "oversubscribed": "Start fewer ranks per node.",
    "core": "Bind each rank to its own core: --bind-to core",
    "lost": "Stop other work on these nodes, and trace again.",
    "load": "Stop other work on these nodes, and trace again.",
    "steal": "Trace on dedicated nodes.",
    "tracer": "Compare with a run without weft trace.",
    "partial": "Trace a run that ends with MPI_Finalize.",
    "unmeasured": "Trace with weft trace.",
}


def doubt_text(row: TraceDoubtRow) -> str:
    """``more ranks than cores: 4 ranks on 2 cores of n0``."""
    return TEXTS[row["doubt"]].format(where=row["where"], share=percent(row["share"]))
