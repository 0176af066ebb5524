# SPDX-License-Identifier: BSD-3-Clause
"""All-to-alls in rounds: the machine and costs of the simulator, without an actor for each rank.

A process of its own, ``python -m weft.launch.simulated.rounds ORDER``, that a launcher limits and ends like a
simulation; it writes the same records. The engine is native/simulate/rounds.
"""

import ctypes
import io
import sys
import time
import zlib
from collections.abc import Mapping, Sequence
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

from weft.errors import LaunchError
from weft.fabric.network.graph import Floats
from weft.files.atomic import make_folder, read_json, write_atomic, write_json
from weft.plan.schedules import KINDS
from weft.route.library import Library

COARSE, COARSE_FROM = 5e-3, 512
"""From so many ranks on messages end together that do within this part of what an adapter takes for a round."""
ENGINE = "rounds"
COLUMNS = ("start_ns", "duration_ns", "delay")


class Call(ctypes.Structure):
    """``weft::rounds::Call`` of native/simulate/rounds/schedules.hpp."""

    _fields_ = (
        *((name, ctypes.c_int32) for name in ("algorithm", "own", "parameter", "second", "asked", "itself", "cold")),
        *(("bytes", ctypes.c_double), ("blocks", ctypes.c_void_p)),
    )


def compute(library: Library, order: Mapping[str, Any], calls: Sequence[Call]) -> tuple[Floats, Floats]:
    """When each rank begins and ends each call, s, of shape (calls, ranks); LaunchError if it cannot be computed."""
    machine, slots = str(order["machine"]).encode(), np.array(order["slots"], np.int32)
    begin, end = np.zeros((2, len(calls), len(slots)))
    options = np.array([order["eager_bytes"], order["path_bytes"], COARSE if len(slots) >= COARSE_FROM else 0.0])
    why, array = ctypes.create_string_buffer(400), (Call * len(calls))(*calls)
    made = len(calls), ctypes.addressof(array)
    if library.call("rounds", machine, len(slots), slots, *made, options, begin, end, why, len(why)) < 0:
        raise LaunchError(f"the rounds cannot be computed: {why.value.decode(errors='replace')}", "")
    return begin, end


def calls_of(
    cell: Mapping[str, Any], first: bool, blocks: Sequence[Floats | None]
) -> tuple[list[Call], list[dict[str, Any]], list[int]]:
    """The calls of a cell, first calls before samples; the segments of its record, and the calls that these are of.
    `blocks` are those between ranks in each of the cell's calls, None where all are equal; the calls point into them. A
    first call of Weft's own algorithms sets them up, which has no schedule: it is made, and not recorded.
    """
    calls, segments, kept = list[Call](), list[dict[str, Any]](), list[int]()
    known = list(zip(cell["calls"], blocks, strict=True))
    for cold, (own, between) in product((True, False), known):
        count, before = (1, 1 if first else 2) if cold else (cell["samples"], 0)
        numbers = *(own[key] for key in ("own", "parameter", "second", "asked", "itself")), before, own["block_bytes"]
        one = Call(KINDS.index(own["kind"]), *numbers, None if between is None else between.ctypes.data)
        segment = {"op": own["operation"], "first": len(kept), "count": count, "definition": "global"}
        segment |= {"columns": COLUMNS, "phase": "cold" if cold else "warm"}
        segment["ended_by"] = "single" if cold else "samples"
        if cold:
            segment["peers_met"] = cell["ranks"] - 1 if calls or not first else 0
        if cold or own["own"]:
            segment |= {"algorithm": f"{own['algorithm']} ({ENGINE})"}
        if not (cold and own["own"]):
            segments.append(segment)
            kept += range(len(calls), len(calls) + count)
        calls += [one] * count
    return calls, segments, kept


def write_cell(order: Mapping[str, Any], cell: Mapping[str, Any], library: Library) -> None:
    """Compute a cell and write its samples and its record."""
    began = time.monotonic_ns()
    blocks: list[Floats | None] = [np.load(path) if path else None for path in cell["blocks"]]
    calls, segments, kept = calls_of(cell, cell == order["cells"][0], blocks)
    begin, end = (each[kept] for each in compute(library, order, calls))
    start = np.rint(begin.T * 1e9).astype(np.int64)
    rows = np.stack([start, np.rint(end.T * 1e9).astype(np.int64) - start, np.zeros_like(start)], axis=2)
    stem = Path(order["folder"]) / "cells" / f"{cell['id']}.l{order['index']}"
    make_folder(stem.parent)
    file = io.BytesIO()
    np.save(file, np.ascontiguousarray(rows))
    write_atomic(stem.with_name(stem.name + ".npy"), file.getvalue())
    record: dict[str, Any] = {
        "schema": "weft-cell/2", "run": order["run"], "hash": cell["hash"], "cell": cell["id"],
        "launch": order["launch"], "launch_index": order["index"], "kernel": cell["kernel"], "ranks": cell["ranks"],
        "status": "ok", "reason": "", "shape": rows.shape, "crc32": [zlib.crc32(row.tobytes()) for row in rows],
        "segments": segments, "clock": {"method": "shared", "residual_ns": 0},
        "validation": {"performed": False, "errors": 0, "detail": "rounds move no data: there is nothing to prove"},
        "wall_ns": time.monotonic_ns() - began, "warnings": [],
    }  # fmt: skip
    write_json(stem.with_name(stem.name + ".json"), record)


def write_launch(order: Mapping[str, Any]) -> None:
    """Write the record of the launch: which rank is where."""
    each = order["ranks_per_node"]
    ranks = [
        {"rank": rank, "host": order["hosts"][slot // each], "node": slot // each, "local_rank": slot % each,
         "cpus": str(slot % each), "core": slot % each}
        for rank, slot in enumerate(order["slots"])
    ]  # fmt: skip
    clock = {"resolution_ns": 0, "cost_ns": 0, "method": "shared", "residual_ns": 0}
    record = {
        "schema": "weft-launch/1", "run": order["run"], "launch": order["launch"], "launch_index": order["index"],
        "mpi_library": order["mpi_library"], "mpi_standard": "3.1", "processor": "simulated", "clock": clock,
        "start": "barrier", "cache": "hot", "ranks": ranks,
    }  # fmt: skip
    write_json(Path(order["folder"]) / "launches" / f"{order['launch']}.json", record)


def main(path: str) -> int:
    """Compute what an order asks for; returns the exit code."""
    order = read_json(Path(path))
    try:
        library = Library(Path(order["library"]))
        write_launch(order)
        for cell in order["cells"]:
            write_cell(order, cell, library)
    except LaunchError as error:
        sys.stderr.write(f"weft: error: {error.what}\n")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
