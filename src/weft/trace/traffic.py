# SPDX-License-Identifier: BSD-3-Clause
"""What a traced application sent to whom, for verbs that take traffic: routes, placement, tuning."""

from pathlib import Path

import numpy as np
import numpy.typing as npt

from weft.analyse.tables.traces import MATRIX
from weft.analyse.trace import ensure_trace_tables
from weft.errors import DataError
from weft.route.given import matrix_of
from weft.store.trace.folder import TRACE_RANKS, TraceFolder
from weft.trace.events import each_event, groups_of, reading_trace
from weft.trace.take import bring_in

MOST_RANKS = 8192
ALL_TO_ALLS = ("MPI_Alltoall", "MPI_Ialltoall")


def traffic_of_trace(run: Path) -> npt.NDArray[np.float64]:
    """Bytes from each rank (rows) to each other, without collectives whose pairs the library chooses; DataError."""
    with reading_trace(run):
        folder = TraceFolder.open(run)
        bring_in(folder)
        ensure_trace_tables(folder)
        ranks = 1 + max((row["rank"] for row in TRACE_RANKS.read(folder.path)), default=-1)
        if ranks > MOST_RANKS:
            most = f"a traffic matrix has {MOST_RANKS:,} at most"
            raise DataError(f"{folder.path} has {ranks:,} ranks; {most}", "trace fewer ranks")
        sent = np.zeros((ranks, ranks))
        for row in MATRIX.read(folder.path):
            if 0 <= row["rank"] < ranks and 0 <= row["peer"] < ranks:
                sent[row["rank"], row["peer"]] += row["bytes"]
    np.fill_diagonal(sent, 0)
    if not sent.any():
        raise DataError(
            f"{run} has no messages from one rank to another",
            "trace an application that sends some; collective calls other than all-to-alls are not in the matrix",
        )
    return sent


def amounts_of(matrix: Path | None, run: Path | None) -> npt.NDArray[np.float64] | None:
    """Amount from each rank to each other, (ranks, ranks), of a trace or a file, or None; DataError, WeftError."""
    return matrix_of(matrix) if run is None else traffic_of_trace(run)


def block_sizes_of_trace(run: Path) -> list[int]:
    """Bytes of a block in a trace's all-to-alls, ascending, each once; DataError without one."""
    with reading_trace(run):
        folder = TraceFolder.open(run)
        bring_in(folder)
        sizes = {number: group.size for number, group in groups_of(folder).items()}
        found = {
            event.bytes // sizes[event.comm]
            for _, event in each_event(folder)
            if event.call in ALL_TO_ALLS and event.bytes > 0 and sizes.get(event.comm, 0) > 1
        }
    if not found:
        raise DataError(
            f"{run} has no MPI_Alltoall with data", "give the sizes of blocks: weft tune --sizes 1KiB 64KiB"
        )
    return sorted(found)
