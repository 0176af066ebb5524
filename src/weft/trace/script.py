# SPDX-License-Identifier: BSD-3-Clause
"""From a trace to the script of its replay: who sends what to whom, in which order, after how much computation.

A first pass over all ranks collects what a rank's own events do not tell: which messages were both sent and received,
and the counts of vector calls at the ranks that only receive. A second one writes each rank's actions.
"""

from collections import Counter
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from weft.errors import DataError
from weft.store.trace.folder import TraceFolder
from weft.store.trace.script import ACTION, DIRECT, RankScript, write_script
from weft.store.trace.tables import TRACE_RANKS
from weft.trace.events import counts_of, groups_of, ranks_columns
from weft.trace.layers import layers_of
from weft.trace.pairing import common_of
from weft.trace.rank_actions import RankWriter


@dataclass(frozen=True)
class Made:
    """A script that was written.

    Attributes
    ----------
    ranks
        Of the application.
    left_out
        Number of calls that are not replayed, by name.
    traced_s
        From the first call to the end of the last.
    computed_s
        Mean over the ranks of the time between calls.
    busiest_s
        The most of a rank.
    alltoalls
        Actions that are all-to-alls, of all ranks.
    """

    path: Path
    ranks: int
    left_out: dict[str, int]
    traced_s: float
    computed_s: float
    busiest_s: float
    alltoalls: int


def make_script(folder: TraceFolder, path: Path) -> Made:
    """Write the script of a trace.

    Raises DataError: The trace is partial or summarised, ranks call MPI from several threads, there are more
    communicators than a script holds, or a file cannot be read or written.
    """
    rows = TRACE_RANKS.read(folder.path)
    groups, counts = groups_of(folder), counts_of(folder)
    missing = [row["missing"] for row in rows if row["missing"]]
    world = max((group.size for group in groups.values() if group.name == "MPI_COMM_WORLD"), default=0)
    if len(rows) < world:
        missing.append(f"{world - len(rows):,} of {world:,} ranks have no file")
    _check_whole(folder, missing, sum(row["summarised"] for row in rows))
    common, used = common_of(folder, groups, counts)
    layers = layers_of({comm: groups[comm] for comm in sorted(used)}, len(rows))
    begin = min((row["begin_ns"] for row in rows if row["events"]), default=0)
    end = max((row["end_ns"] for row in rows if row["events"]), default=0)
    parts: dict[int, RankScript] = {}
    left_out: Counter[str] = Counter()
    messages = direct = computed = busiest = 0
    for rank, own in ranks_columns(folder):
        writer = RankWriter(rank, own, common, groups, layers)
        parts[rank] = writer.script(begin)
        left_out += writer.left_out
        messages += writer.messages
        direct += writer.direct
        computed += writer.computed_ns
        busiest = max(busiest, writer.computed_ns)
    nothing = RankScript(np.zeros(0, ACTION), np.zeros(0, np.int64), 0, 0, 0)
    everybody = [parts.get(row["rank"], nothing) for row in sorted(rows, key=lambda row: row["rank"])]
    mean = computed // max(len(rows), 1)
    write_script(
        path, everybody, layers.tables, messages=messages, traced_ns=end - begin, computed_ns=mean, direct=direct
    )
    alltoalls = sum(int(np.isin(part.actions["act"], DIRECT).sum()) for part in everybody)
    return Made(path, len(rows), dict(left_out), (end - begin) / 1e9, mean / 1e9, busiest / 1e9, alltoalls)


def _check_whole(folder: TraceFolder, missing: list[str], summarised: int) -> None:
    if missing:
        raise DataError(
            f"{folder.path} is partial ({missing[0]}): in a replay other ranks would wait for what is missing for ever",
            "trace a run that ends with MPI_Finalize on all its ranks: weft trace -o RUN -- mpirun ...",
        )
    if summarised:
        raise DataError(
            f"{folder.path} has {summarised:,} calls only as sums by call site, whose order is not known",
            "trace again with larger files: weft trace --most 8GiB -o RUN -- mpirun ...",
        )
