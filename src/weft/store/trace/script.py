# SPDX-License-Identifier: BSD-3-Clause
"""Layout of a replay's script (docs/dev/trace-format.md); ``native/measure/replay/script.hpp`` has the same."""

import enum
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from weft.errors import DataError
from weft.files.atomic import file_errors, write_atomic
from weft.files.beneath import UNLIMITED, open_plain, read_plain

MAGIC = b"WEFTSCR\0"
VERSION = 1
MOST_RANKS = 10_000_000
HEAD = np.dtype(
    [
        ("magic", "S8"), ("version", "<u4"), ("ranks", "<u4"), ("layers", "<u4"), ("direct_acts", "<u4"),
        ("messages", "<i8"), ("traced_ns", "<i8"), ("computed_ns", "<i8"), ("most_bytes", "<i8"), ("direct", "<i8"),
    ]
)  # fmt: skip
_OF_PART = ("first_action", "actions", "first_count", "counts", "send_bytes", "receive_bytes", "slots")
PART = np.dtype([(name, "<i8") for name in _OF_PART])
LAYER = np.dtype([("color", "<i4"), ("key", "<i4")])
ACTION = np.dtype(
    [
        ("act", "<u2"), ("unused", "<u2"), ("comm", "<i4"), ("peer", "<i4"), ("tag", "<i4"), ("bytes", "<i8"),
        ("received", "<i8"), ("value", "<i8"), ("offset", "<i8"),
    ]
)  # fmt: skip
SELF, WORLD = -1, 0  # ``comm`` of an action of a rank alone, of one of all; k: the rank's communicator of layer k
MOST_COUNTED = 8192
Bytes = npt.NDArray[np.float64]


class Act(enum.IntEnum):
    """Steps of a rank."""

    COMPUTE, SEND, RECEIVE, ISEND, IRECEIVE, WAIT, BARRIER, BCAST, REDUCE = range(9)
    ALLREDUCE, GATHER, SCATTER, ALLGATHER, ALLTOALL, ALLTOALLV, REDUCE_SCATTER, SCAN, EXSCAN = range(9, 18)


DIRECT = (Act.ALLTOALL, Act.ALLTOALLV)  # calls whose blocks a library may send to all ranks at once


@dataclass(frozen=True)
class RankScript:
    """One rank's part: its actions (n rows of ACTION), the counts that they name, and the bytes of its buffers."""

    actions: npt.NDArray[Any]
    counts: npt.NDArray[np.int64]
    send_bytes: int
    receive_bytes: int
    slots: int


@dataclass(frozen=True)
class ScriptSizes:
    """What a script's head says."""

    ranks: int
    messages: int  # point-to-point messages, and for each collective call of a rank one for every other member
    traced_ns: int  # from the first call of the traced application to the end of the last
    computed_ns: int  # mean over the ranks of the time between calls
    most_bytes: int  # largest single message or block
    # send_bytes, receive_bytes, script_bytes: most that a rank needs
    send_bytes: int
    receive_bytes: int
    script_bytes: int
    direct: int = 0  # those of ``messages`` that calls with a block for every rank send; 0 in scripts of older versions
    direct_calls: tuple[str, ...] = ()  # which of `DIRECT` these are, in lower case


def write_script(
    path: Path, parts: Sequence[RankScript], layers: Sequence[npt.NDArray[Any]], *, messages: int, traced_ns: int,
    computed_ns: int, direct: int = 0,
) -> None:  # fmt: skip
    """Write a script (see :class:`ScriptSizes`), whole or not at all; layers have the shape (ranks,). DataError."""
    head = np.zeros(1, HEAD)
    largest = max((int(part.actions["bytes"].max()) for part in parts if len(part.actions)), default=0)
    acts = sum(1 << act for act in DIRECT if any((part.actions["act"] == act).any() for part in parts))
    head[0] = (MAGIC, VERSION, len(parts), len(layers), acts, messages, traced_ns, computed_ns, largest, direct)
    index = np.zeros(len(parts), PART)
    place = HEAD.itemsize + index.nbytes + sum(layer.nbytes for layer in layers)
    for number, part in enumerate(parts):
        after = place + part.actions.nbytes
        index[number] = (
            place, len(part.actions), after, len(part.counts), part.send_bytes, part.receive_bytes, part.slots
        )  # fmt: skip
        place = after + part.counts.nbytes
    pieces = [head.tobytes(), index.tobytes(), *(layer.astype(LAYER).tobytes() for layer in layers)]
    pieces += [piece for part in parts for piece in (part.actions.tobytes(), part.counts.astype("<i8").tobytes())]
    write_atomic(path, b"".join(pieces))


def read_sizes(path: Path) -> ScriptSizes:
    """Read the head of a script. Raises DataError: it cannot be read, is no script, or is shorter than it says."""
    with file_errors(path), open_plain(path) as file:
        head = np.frombuffer(file.read(HEAD.itemsize).ljust(HEAD.itemsize, b"\0"), HEAD)[0]
        ranks = int(head["ranks"])
        if head["magic"] != MAGIC.rstrip(b"\0") or head["version"] != VERSION or not 0 < ranks <= MOST_RANKS:
            raise DataError(f"{path} is no script of this version of Weft", "make it: weft replay TRACE --on FABRIC")
        raw = file.read(ranks * PART.itemsize)
    if len(raw) < ranks * PART.itemsize:
        raise DataError(f"{path} is shorter than it says", "make it anew: weft replay TRACE --on FABRIC")
    index = np.frombuffer(raw, PART)
    own = index["actions"] * ACTION.itemsize + index["counts"] * 8
    return ScriptSizes(
        ranks, int(head["messages"]), int(head["traced_ns"]), int(head["computed_ns"]), int(head["most_bytes"]),
        int(index["send_bytes"].max()), int(index["receive_bytes"].max()), int(own.max()), int(head["direct"]),
        tuple(act.name.lower() for act in DIRECT if int(head["direct_acts"]) >> act & 1),
    )  # fmt: skip


def sent_in(path: Path) -> Bytes | None:
    """Bytes of messages and all-to-alls by sender and receiver, (ranks, ranks); None for too many ranks. DataError."""
    ranks = read_sizes(path).ranks
    if ranks > MOST_COUNTED:
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
