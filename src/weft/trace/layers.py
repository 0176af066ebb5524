# SPDX-License-Identifier: BSD-3-Clause
"""Communicators of a trace as splits of all ranks: disjoint ones share a split, a layer."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from weft.errors import DataError
from weft.store.trace.script import LAYER, SELF, WORLD
from weft.trace.events import Group

MOST_LAYERS = 1_000
NAMED = {"MPI_COMM_WORLD": WORLD, "MPI_COMM_SELF": SELF}


@dataclass(frozen=True)
class Layers:
    """The splits.

    Attributes
    ----------
    tables
        For each layer an array of LAYER with an entry for each rank.
    of
        ``comm`` of an action on each communicator: 0 for the world, -1 for a rank alone, k for layer k.
    """

    tables: list[npt.NDArray[Any]]
    of: dict[int, int]


def layers_of(groups: Mapping[int, Group], ranks: int) -> Layers:
    """The layers of communicators.

    Raises DataError: There are more layers than a script holds.
    """
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
