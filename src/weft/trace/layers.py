# SPDX-License-Identifier: BSD-3-Clause
"""Communicators of a trace as splits of all ranks: disjoint ones share a split, a layer."""

import shlex
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from weft.errors import DataError
from weft.run.refresh import said_of, unfit
from weft.store.trace.folder import TraceFolder
from weft.store.trace.script import LAYER, SELF, WORLD
from weft.trace.events import Group


@contextmanager
def reading_trace(run: Path) -> Generator[None, None, None]:
    """Turn what comes of edited or missing files of a trace into one message: DataError."""
    try:
        yield
    except unfit() as problem:
        if isinstance(problem, OSError) and isinstance(problem.filename, str):
            raise  # of a file that is written
        folder = TraceFolder(run)
        made = shlex.join(str(place) for place in (folder.events, folder.counts, folder.tables) if place.exists())
        anew = f"rm -r {made}, then the same command makes them anew from {folder.raw}"
        none = "take the trace again: weft trace -o RUN -- mpirun -n 4 ./application"
        raise DataError(
            f"{run}: the files of the trace do not fit together: {said_of(problem)}",
            (anew if folder.raw.is_dir() and made else none)
            + "; if this error comes again, it is a mistake in Weft: report it with these lines",
        ) from problem


MOST_LAYERS = 1_000
NAMED = {"MPI_COMM_WORLD": WORLD, "MPI_COMM_SELF": SELF}


@dataclass(frozen=True)
class Layers:
    """Splits of all ranks, each of disjoint communicators."""

    tables: list[npt.NDArray[Any]]  # for each layer an array of LAYER with an entry for each rank
    # ``comm`` of an action on each communicator: 0 for the world, -1 for a rank alone, k for layer k
    of: dict[int, int]


def layers_of(groups: Mapping[int, Group], ranks: int) -> Layers:
    """The layers of communicators. Raises DataError: There are more layers than a script holds."""
    tables: list[npt.NDArray[Any]] = []
    of: dict[int, int] = {}
    for comm, group in groups.items():
        if group.name in NAMED:
            of[comm] = NAMED[group.name]
        if group.name in NAMED or group.inter or min(group.members or (), default=-1) < 0:
            continue
        own = np.array(group.members)
        free = next((place for place, table in enumerate(tables) if (table["color"][own] < 0).all()), len(tables))
        if free == MOST_LAYERS:
            raise DataError(
                f"the trace has more than {MOST_LAYERS:,} communicators that share ranks",
                "trace a shorter run, or one that frees and makes fewer communicators",
            )
        if free == len(tables):
            tables.append(np.full(ranks, np.array((-1, 0), LAYER)))
        tables[free]["color"][own] = comm
        tables[free]["key"][own] = np.arange(len(own))
        of[comm] = free + 1
    return Layers(tables, of)
