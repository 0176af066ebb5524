# SPDX-License-Identifier: BSD-3-Clause
"""What the ranks of a replay's script send to each other."""

from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from weft.errors import DataError
from weft.files.atomic import file_errors
from weft.files.beneath import UNLIMITED, read_plain
from weft.store.trace.script import ACTION, HEAD, LAYER, PART, WORLD, Act, read_sizes

MOST_RANKS = 8192
Bytes = npt.NDArray[np.float64]


def sent_in(path: Path) -> Bytes | None:
    """Bytes of messages and all-to-alls by sender and receiver, (ranks, ranks); None for too many ranks. DataError."""
    ranks = read_sizes(path).ranks
    if ranks > MOST_RANKS:
        return None
    with file_errors(path):
        raw = read_plain(path, UNLIMITED)
    try:
        return _sent(raw, ranks)
    except (ValueError, IndexError) as error:
        raise DataError(f"{path} is no whole script: {error}", "replay the trace again, which makes it anew") from error


def _sent(raw: bytes, ranks: int) -> Bytes:
    head = np.frombuffer(raw, HEAD, 1)[0]
    index = np.frombuffer(raw, PART, ranks, HEAD.itemsize)
    place = HEAD.itemsize + index.nbytes
    layers = np.frombuffer(raw, LAYER, ranks * int(head["layers"]), place).reshape(-1, ranks)
    groups: list[dict[int, npt.NDArray[np.intp]]] = [_groups(layer) for layer in layers]
    world, found = np.arange(ranks), np.zeros((ranks, ranks))
    for rank, part in enumerate(index):
        actions = np.frombuffer(raw, ACTION, part["actions"], part["first_action"])
        counts = np.frombuffer(raw, "<i8", part["counts"], part["first_count"])
        for comm in map(int, np.unique(actions["comm"][actions["comm"] >= WORLD])):
            own = world if comm == WORLD else groups[comm - 1][int(layers[comm - 1]["color"][rank])]
            found[rank, own] += _given(actions[actions["comm"] == comm], counts, len(own))
    np.fill_diagonal(found, 0)
    return found


def _groups(layer: npt.NDArray[Any]) -> dict[int, npt.NDArray[np.intp]]:
    order = np.lexsort((layer["key"], layer["color"]))
    colors, first = np.unique(layer["color"][order], return_index=True)
    return dict(zip(colors.tolist(), np.split(order, first[1:]), strict=True))


def _given(actions: npt.NDArray[Any], counts: npt.NDArray[np.int64], size: int) -> Bytes:
    """Bytes that a rank's actions on one communicator give to each member, shape (size,)."""
    act, peer = actions["act"], actions["peer"]
    single = np.isin(act, (Act.SEND, Act.ISEND)) & (peer >= 0)
    given = np.bincount(peer[single], weights=actions["bytes"][single], minlength=size)
    if len(given) > size:
        raise ValueError(f"a message to rank {len(given) - 1} of {size}")
    given += actions["bytes"][act == Act.ALLTOALL].sum()
    for row in actions[act == Act.ALLTOALLV]:
        given += counts[row["value"] : row["value"] + size]
    return given
