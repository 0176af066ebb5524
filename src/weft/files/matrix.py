# SPDX-License-Identifier: BSD-3-Clause
"""Traffic matrices in files: text (also nccl-tests' for alltoallv), NumPy's .npy, PyTorch's traces of collectives. A
trace (Kineto's, or an execution trace in Chakra's JSON) has the calls of one rank: a file is one trace, or a list of
those of all ranks. Calls of all groups are added. Sizes per peer are those of ``In split size``; a call without them
has equal parts, which is what PyTorch then sends.
"""

import json
import os
import re
import stat
from collections.abc import Iterator, Mapping
from io import BufferedReader
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from weft.errors import StudyError
from weft.files.beneath import read_json_text
from weft.files.reading import is_list, is_table

MOST_WEIGHT = 2**50
SCALE = 10**6
MOST_SIDE = 8192
MOST_LINE = 32 * MOST_SIDE
MOST_HEADER = 10_000
NPY = b"\x93NUMPY"
ARCHIVE = b"PK\x03\x04"
HEADER = re.compile(
    r"\{'descr': '([<>=|]?(?:[iu][1248]|f[248]))', 'fortran_order': (True|False), "
    r"'shape': \(([0-9]{1,9}), ([0-9]{1,9})\), \}\s*",
    re.ASCII,
)
EXAMPLE = "p lines of p numbers (text), or numpy.save(path, matrix): row i holds what rank i sends to each"
CALL = "record_param_comms"
BYTES = {
    "byte": 1, "char": 1, "bool": 1, "half": 2, "bfloat16": 2, "short": 2, "float": 4, "int": 4, "double": 8, "long": 8,
    "complexfloat": 8, "complexdouble": 16,
}  # fmt: skip
#: Names in Chakra's JSON -> in Kineto's.
ATTRIBUTES = {
    "collective_name": "Collective name", "dtype": "dtype", "in_msg_nelems": "In msg nelems",
    "in_split_size": "In split size", "pg_size": "Group size", "pg_name": "Process Group Name",
    "global_rank_start": "Global rank start", "global_rank_stride": "Global rank stride",
}  # fmt: skip
GROUP, GROUPS = "Process Group Name", "## process_group:init ##"
Call = Mapping[str, object]


def read_matrix(path: Path) -> list[list[int]]:
    """Weights of a traffic matrix, as whole numbers: row i holds what rank i sends to each. Whole numbers stay, so that
    bytes are sent as they stand where the sweep's size is the largest; others are scaled to a million. Nothing is read
    that the header, or the first line, does not allow. Raises StudyError: no file, no square of numbers, a negative
    one, or nothing but zeros; or one of over 8,192 ranks.
    """
    try:
        # a pipe would wait for its writer
        with open(path, "rb", opener=lambda name, flags: os.open(name, flags | os.O_NONBLOCK)) as file:
            if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                raise ValueError("it is no plain file")
            start = file.peek(6)[:6]
            is_json = start.lstrip()[:1] in (b"{", b"[")
            found = _npy(file) if start == NPY else read_collectives(path) if is_json else _text(file)
    except (OSError, ValueError, RecursionError) as problem:
        raise StudyError(f"traffic matrix {path}: {problem}", f"write {EXAMPLE}") from None
    if found.ndim != 2 or found.shape[0] != found.shape[1] or not found.size:
        raise StudyError(f"traffic matrix {path}: shape {found.shape} of {found.dtype}", f"write {EXAMPLE}")
    values: NDArray[np.float64] = found.astype(float)
    if not np.isfinite(values).all() or values.min() < 0 or not 0 < values.max() <= MOST_WEIGHT:
        what = f"traffic matrix {path}: its numbers are between {values.min():g} and {values.max():g}"
        raise StudyError(what, "give numbers from 0 to 2^50, not all of them 0")
    if (values != np.floor(values)).any():
        values = np.asarray(np.round(values * (SCALE / float(values.max()))), np.float64)
    return values.astype(np.int64).tolist()


def _npy(file: BufferedReader) -> NDArray[Any]:
    start = file.read(12)
    prefix = 10 if start[6:7] == b"\x01" else 12
    size = int.from_bytes(start[8:prefix], "little")
    if len(start) < prefix or start[6:8] not in (b"\x01\0", b"\x02\0", b"\x03\0") or size > MOST_HEADER:
        raise ValueError(f"its header of {size} bytes is none of NumPy's")
    file.seek(prefix)
    header = file.read(size).decode("latin-1")
    known = HEADER.fullmatch(header)
    if known is None:
        raise ValueError(f"its header {header[:80].strip()!r} is not that of numbers in the shape (p, p)")
    kind, shape = np.dtype(known[1]), (int(known[3]), int(known[4]))
    length = os.fstat(file.fileno()).st_size - prefix - size
    if max(shape) > MOST_SIDE or shape[0] * shape[1] * kind.itemsize != length:
        raise ValueError(f"{length:,} bytes of data for shape {shape} of {kind} (at most {MOST_SIDE:,} ranks)")
    return np.fromfile(file, kind, shape[0] * shape[1]).reshape(shape, order="F" if known[2] == "True" else "C")


def _text(file: BufferedReader) -> NDArray[Any]:
    if file.peek(4)[:4] == ARCHIVE:
        raise ValueError("it is an archive (numpy.savez)")
    rows: list[NDArray[Any]] = []
    while line := file.readline(MOST_LINE):
        words = line.decode("utf-8").replace(",", " ").split()
        if len(line) == MOST_LINE or len(words) > MOST_SIDE or (rows and len(rows) == len(rows[0]) and words):
            raise ValueError(f"line {len(rows) + 1} is one too many, or too long (at most {MOST_SIDE:,} ranks)")
        if words:
            rows.append(np.array([float(word) for word in words]))
            if len(rows[-1]) != len(rows[0]):
                raise ValueError(f"{len(rows[-1])} numbers in row {len(rows)}, and {len(rows[0])} in the first")
    return np.array(rows)


def read_collectives(path: Path) -> NDArray[np.float64]:
    """Bytes that each rank sends to each in all-to-alls, shape (p, p); OSError, RecursionError, or ValueError."""
    given: object = json.loads(read_json_text(path))
    rows: dict[int, dict[int, float]] = {}
    size = 1
    for trace in given if is_list(given) else [given]:
        if not is_table(trace):
            raise ValueError("it is neither a trace of Kineto or Chakra nor a list of them")
        for call in calls_of(trace):
            rank, peers, sent = sent_by(call)
            row = rows.setdefault(rank, {})
            for peer, amount in zip(peers, sent, strict=True):
                row[peer] = row.get(peer, 0.0) + amount
            size = max(size, rank + 1, *(peer + 1 for peer in peers))
    lacking = [str(rank) for rank in range(size) if rank not in rows]
    if not rows:
        raise ValueError("it has no all-to-all with the sizes of its peers")
    if lacking:
        some = ", ".join(lacking[:8]) + (" .." if len(lacking) > 8 else "")
        raise ValueError(f"it has no all-to-all of rank {some} of {size}: join the traces of all (jq -s . rank*.json)")
    found = np.zeros((size, size))
    for rank, row in rows.items():
        found[rank, list(row)] = list(row.values())
    return found


def calls_of(trace: dict[str, Any]) -> Iterator[Call]:
    """The all-to-alls of a trace, in Kineto's words, with the rank that made them as ``rank``."""
    info = trace.get("distributedInfo")
    info = info if is_table(info) else {}
    given = trace.get("traceEvents", trace.get("nodes"))
    if not is_list(given):
        raise ValueError('it has neither "traceEvents" (Kineto) nor "nodes" (Chakra)')
    events = [each for each in given if is_table(each)]
    groups = _groups(info.get("pg_config")) | _groups(*(_inputs(each) for each in events if each.get("name") == GROUPS))
    calls = [_call(each, info.get("rank")) for each in events if each.get("name") == CALL]
    parts = [len(each) if is_list(each) else 0 for each in (call.get("In split size") for call in calls)]
    sizes = {name: count for name, count in zip(map(_group, calls), parts, strict=True) if name is not None and count}
    for call, count in zip(calls, parts, strict=True):
        if "all_to_all" in str(call.get("Collective name", "")).replace("alltoall", "all_to_all"):
            name = _group(call)
            ranks = {"Process Group Ranks": groups[name]} if name in groups and not _is_whole(call) else {}
            yield {"Group size": count or (None if name is None else sizes.get(name))} | call | ranks


def _group(call: Call) -> str | None:
    return None if call.get(GROUP) is None else str(call[GROUP])


def _call(event: dict[str, Any], rank: object) -> dict[str, object]:
    args, given = event.get("args"), event.get("attrs")
    if is_table(args):
        return {"rank": rank} | args
    named = [each for each in given if is_table(each)] if is_list(given) else []
    own = {ATTRIBUTES[each["name"]]: each.get("value") for each in named if str(each.get("name")) in ATTRIBUTES}
    return {"rank": rank} | _passed(_inputs(event)) | own


def _is_whole(call: Call) -> bool:
    """Whether a call lists the ranks of its group; PyTorch leaves out those in the middle of a long list."""
    return "..." not in str(call.get("Process Group Ranks", "..."))


def _groups(*given: object) -> dict[str, object]:
    """The ranks of each group that a trace lists by name; none of the group of all."""
    listed = [each for text in given for each in (_tables(text) if is_list(text) or isinstance(text, str) else [])]
    return {str(each["pg_name"]): each["ranks"] for each in listed if each.get("ranks") and "pg_name" in each}


def _tables(given: object) -> list[dict[str, Any]]:
    """Those in a list; in the text of one; or in a list of such texts."""
    if isinstance(given, str):
        return _tables(json.loads(given)) if given.startswith("[") else []
    found: list[dict[str, Any]] = []
    for each in given if is_list(given) else []:
        found += [each] if is_table(each) else _tables(each) if isinstance(each, str) else []
    return found


def _inputs(event: dict[str, Any]) -> list[Any]:
    inputs = event.get("inputs")
    values = inputs.get("values") if is_table(inputs) else inputs
    return values if is_list(values) else []


def _passed(values: list[Any]) -> dict[str, object]:
    """What a node of an early execution trace says by its inputs: tensor, number, group, rank in it, name, parts."""
    at = next((i for i, each in enumerate(values) if isinstance(each, str) and "to_all" in each), 0)
    if at < 2:
        return {}
    tensor, group = values[0], values[at - 2]
    name = group[0] if is_list(group) and group else group
    found = {"member": values[at - 1], "Collective name": values[at], GROUP: name}
    if is_list(tensor) and len(tensor) > 4:
        found |= {"In msg nelems": tensor[3], "dtype": tensor[4]}
    return found | ({"In split size": values[at + 1]} if len(values) > at + 1 else {})


def sent_by(call: Call) -> tuple[int, list[int], list[float]]:
    """The rank that made a call, its peers, and the bytes that it sends each; ValueError for what is not there."""
    size = _whole(call, "Group size", 1, MOST_SIDE)
    peers = _peers(call, size)
    member = call.get("member")
    rank = _whole(call, "rank", 0, MOST_SIDE - 1) if member is None else peers[_whole(call, "member", 0, size - 1)]
    given = call.get("dtype", "")
    kind = str(given).rpartition(".")[2].lower()
    unit = given if isinstance(given, int) and 1 <= given <= 16 else 1 if kind.startswith("float8") else BYTES.get(kind)
    if unit is None:
        raise ValueError(f"an all-to-all of rank {rank} has the dtype {kind[:40]!r}, which is not known")
    total = _whole(call, "In msg nelems", 0, MOST_WEIGHT) * unit
    parts = _numbers(call, "In split size") or [1] * size
    if len(parts) != size:
        raise ValueError(f"an all-to-all of rank {rank} has {len(parts)} sizes for {size} peers")
    return rank, peers, [total * part / max(sum(parts), 1) for part in parts]


def _peers(call: Call, size: int) -> list[int]:
    """The ranks of a group among all: listed, or the first and a stride, which is -1 where there is none."""
    stride = call.get("Global rank stride", 1 if "Global rank start" in call else None)
    if _is_whole(call) or stride is None:
        peers = _numbers(call, "Process Group Ranks") or list(range(size))
    elif size > 1 and stride == -1:
        raise ValueError(f"a group of {size} has neither a list of its ranks nor a stride between them")
    else:
        step = _whole(call, "Global rank stride", 1, MOST_SIDE) if size > 1 and "Global rank stride" in call else 1
        first = _whole(call, "Global rank start", 0, MOST_SIDE - 1)
        peers = [first + step * index for index in range(size)]
    if len(set(peers)) != size or max(peers) >= MOST_SIDE:
        raise ValueError(f"a group of {size} has the ranks {peers[:8]}: no {size} different ones below {MOST_SIDE:,}")
    return peers


def _whole(call: Call, key: str, least: int, most: int) -> int:
    value = call.get(key)
    if not isinstance(value, int) or not least <= value <= most:
        raise ValueError(f"an all-to-all has {key} {str(value)[:40]!r}, no whole number from {least:,} to {most:,}")
    return value


def _numbers(call: Call, key: str) -> list[int]:
    """A list of whole numbers, or a text of one; PyTorch leaves out those in the middle of a long one."""
    given: object = call.get(key) or "[]"
    if isinstance(given, str) and "..." in given:
        lacking = "the ranks of its group" if key == "Process Group Ranks" else "its sizes per peer"
        raise ValueError(f'an all-to-all has its "{key}" cut short ({given[:40]}): {lacking} are not there')
    values: object = json.loads(given) if isinstance(given, str) else given
    if not is_list(values) or not all(isinstance(each, int) and 0 <= each <= MOST_WEIGHT for each in values):
        raise ValueError(f'an all-to-all has the "{key}" {str(given)[:40]!r}: no list of whole numbers')
    return values
