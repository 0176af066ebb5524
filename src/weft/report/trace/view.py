# SPDX-License-Identifier: BSD-3-Clause
"""A trace's tables, read for printing and drawing."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from weft.analyse.tables.traces import (
    CALL_SIZES,
    CALL_TIMES,
    COMM_TIMES,
    LATE,
    MATRIX,
    NODE_PAIRS,
    PHASES,
    SHARES,
    TRACE_DOUBTS,
    VERDICT,
    CallTimeRow,
    CommunicatorTimeRow,
    LateRow,
    NodePairRow,
    PhaseRow,
    ShareRow,
    SizeRow,
    TraceDoubtRow,
    VerdictRow,
)
from weft.store.tables import read_table
from weft.store.trace.folder import TraceFolder
from weft.store.trace.tables import TRACE_RANKS, TraceRankRow

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class TraceView:
    """A trace as the report shows it."""

    path: Path
    command: str
    ranks: Sequence[TraceRankRow]
    calls: Sequence[CallTimeRow]
    sizes: Sequence[SizeRow]
    communicators: Sequence[CommunicatorTimeRow]
    late: Sequence[LateRow]
    phases: Sequence[PhaseRow]
    verdict: Sequence[VerdictRow]
    shares: Sequence[ShareRow]
    node_pairs: Sequence[NodePairRow]
    doubts: Sequence[TraceDoubtRow]

    @property
    def nodes(self) -> dict[int, str]:
        """Host of each node, by its number; parts of a host get a letter's place behind its name."""
        hosts = {row["node"]: row["host"] for row in self.ranks}
        several = len(set(hosts.values())) < len(hosts)
        return {node: f"{host}/{node}" if several else host for node, host in sorted(hosts.items())}

    def matrix(self, what: str) -> Floats:
        """``bytes`` or ``messages`` that each rank sent to each, by their places in `ranks`; 0 for none.

        Shape (ranks, ranks), bytes or counts. Of a rank without a trace nothing is drawn: a trace that was damaged may
        say that it is one of millions.
        """
        table = read_table(self.path, MATRIX.name)
        own = np.array([row["rank"] for row in self.ranks], np.int64)
        order = np.argsort(own)
        found = np.zeros((len(own), len(own)))
        rank, peer = table["rank"].to_numpy(), table["peer"].to_numpy()
        from_place, to_place = (
            np.minimum(np.searchsorted(own, each, sorter=order), len(own) - 1) for each in (rank, peer)
        )
        inside = (own[order[from_place]] == rank) & (own[order[to_place]] == peer)
        places = (order[from_place[inside]], order[to_place[inside]])
        np.add.at(found, places, table[what].to_numpy()[inside])
        return found


def load_trace(folder: TraceFolder) -> TraceView:
    """Read the tables of a trace. DataError if one is missing."""
    root = folder.path
    return TraceView(
        root, str(folder.metadata().get("command", "")), TRACE_RANKS.read(root), CALL_TIMES.read(root),
        CALL_SIZES.read(root), COMM_TIMES.read(root), LATE.read(root), PHASES.read(root), VERDICT.read(root),
        SHARES.read(root), NODE_PAIRS.read(root), TRACE_DOUBTS.read(root),
    )  # fmt: skip
