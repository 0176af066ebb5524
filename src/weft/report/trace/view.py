# SPDX-License-Identifier: BSD-3-Clause
"""A trace's tables, read for printing and drawing."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from weft.analyse.tables import traces
from weft.analyse.tables.claims import CLAIMS, Grade, grade_of
from weft.format import plural
from weft.report.figures import Picture
from weft.report.figures.timeline import COLOURS, draw_timeline
from weft.store.tables import read_once, read_table
from weft.store.trace.folder import TRACE_RANKS, TraceFolder
from weft.words.card import Card, card_rows, headline

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class TraceView:
    """A trace as the report shows it."""

    path: Path
    command: str
    ranks = read_once(TRACE_RANKS)
    calls = read_once(traces.CALL_TIMES)
    sizes = read_once(traces.CALL_SIZES)
    communicators = read_once(traces.COMM_TIMES)
    late = read_once(traces.LATE)
    phases = read_once(traces.PHASES)
    verdict = read_once(traces.VERDICT)
    shares = read_once(traces.SHARES)
    node_pairs = read_once(traces.NODE_PAIRS)
    doubts = read_once(traces.TRACE_DOUBTS)
    claims = read_once(CLAIMS)

    @property
    def confidence(self) -> Grade:
        """The grade that the trace's own records leave it."""
        return grade_of(self.doubts)

    @property
    def card(self) -> Card:
        """What stands first: the answer, then its evidence."""
        rows = tuple(row._replace(next=self.with_folder(row.next)) for row in card_rows(self.claims))
        size = (plural(len(self.nodes), "node"), plural(len(self.ranks), "rank"))
        return Card(f"trace {self.path.name}", tuple(filter(None, (self.command, *size))), rows)

    def with_folder(self, command: str) -> str:
        """A command that names the trace's folder."""
        return command.replace("{run}", str(self.path))

    @property
    def nodes(self) -> dict[int, str]:
        """Host of each node, by its number; parts of a host get a letter's place behind its name."""
        hosts = {row["node"]: row["host"] for row in self.ranks}
        several = len(set(hosts.values())) < len(hosts)
        return {node: f"{host}/{node}" if several else host for node, host in sorted(hosts.items())}

    def draw_activity(self) -> Picture | None:
        """The lanes of all ranks over time; None if nothing was recorded."""
        table = read_table(self.path, traces.ACTIVITY.name)
        columns = int((table["lane"].to_numpy() == 0).sum())
        if not columns:
            return None
        shares = {kind: table[kind].to_numpy().astype(np.float64).reshape(-1, columns) for kind in COLOURS}
        ranks, seconds = table["rank"].to_numpy()[::columns].tolist(), float(table["end_s"].to_numpy()[-1])
        return draw_timeline(ranks, shares, seconds, headline(self.claims))

    def matrix(self, what: str) -> Floats:
        """``bytes`` or ``messages`` that each rank sent to each, by their places in `ranks`; 0 for none.

        Shape (ranks, ranks), bytes or counts. Of a rank without a trace nothing is drawn: a trace that was damaged may
        say that it is one of millions.
        """
        table = read_table(self.path, traces.MATRIX.name)
        own = np.array([row["rank"] for row in self.ranks], np.int64)
        order = np.argsort(own)
        found = np.zeros((len(own), len(own)))
        rank, peer = table["rank"].to_numpy(), table["peer"].to_numpy()
        ends = [order[np.minimum(np.searchsorted(own, each, sorter=order), len(own) - 1)] for each in (rank, peer)]
        inside = (own[ends[0]] == rank) & (own[ends[1]] == peer)
        np.add.at(found, (ends[0][inside], ends[1][inside]), table[what].to_numpy()[inside])
        return found


def load_trace(folder: TraceFolder) -> TraceView:
    """A trace whose tables exist; DataError where one that is asked for is missing."""
    return TraceView(folder.path, str(folder.metadata().get("command", "")))
