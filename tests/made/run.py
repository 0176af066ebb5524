# SPDX-License-Identifier: BSD-3-Clause
"""Makes a run folder with generated cells: valid files of every kind, without MPI and without measuring."""

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from made.folder import begin_folder, write_cell, write_json
from weft.plan.records import Cell, LaunchPlan

#: Four series-points on one host: p = 1, 2 and, oversubscribed, 4.
STUDY = """\
name = "made"
title = "All-to-all on a made machine"
kernel = "exchange"

[measure]
launches = {launches}
seed = 7

[[series]]
name = "constant-global"
scaling = "strong"
nodes = {nodes}
ranks_per_node = {ranks_per_node}
n = {n}
m = 512

[[series]]
name = "constant-local"
scaling = "weak"
nodes = {nodes}
ranks_per_node = {ranks_per_node}
n = {n}
m = "512 * {symbol}"
"""

LOCAL = """\
name = "made-host"
kind = "local"
title = "A made host"

[node]
cores = 2
copy_rate = "8 GB/s"
"""

MANY = """\
name = "made-cluster"
kind = "{kind}"
title = "A made cluster"

[node]
names = "n[1-36]"
cores = 8
memory = "{memory}"
copy_rate = "5 GB/s"

[network]
latency = "1.2 us"
adapter_rate = "3.5 GB/s"
"""

#: A model of it to which something was fitted: its times are no ranges.
FITTED = '[sources]\n"network.adapter_rate" = "fitted to Table 4.2"\n'


@dataclass
class Made:
    """What to make; the defaults are a small run on one made host of two cores."""

    study: str = STUDY.format(launches=3, nodes=[1], ranks_per_node='"fill"', n=4608, symbol="p")
    fabric: str = LOCAL
    #: Cores and memory of the made host (kind local).
    cores: int = 2
    memory_bytes: int = 1 << 34
    samples: int = 30
    #: How much longer iterations take than the shortest, and how much launches differ, relative.
    noise: float = 0.02
    launch_noise: float = 0.01
    definition: str = "global"
    #: Seconds of the exchange: (nodes, ranks, bytes of one rank's array) -> s.
    seconds: Callable[[int, int, float], float] = lambda nodes, ranks, local: local * ranks / nodes / 4e9 + 2e-6
    #: (cell id, launch) -> status other than ok.
    failures: dict[tuple[str, int], str] = field(default_factory=dict)
    copy_rate: float = 8e9
    #: The same as each cell measures it once more in its own launches; None where none does.
    copy_rate_beside: float | None = None
    mpi: str = "Open MPI v5.0.11, package: made"


def make_run(path: Path, made: Made | None = None) -> Path:
    """Write a whole run folder, as weft.run.one and the kernel would leave it, and return its path."""
    made = made or Made()
    plan = begin_folder(path, made.study, made.fabric, made.cores, made.memory_bytes)
    rng = np.random.default_rng(plan.seed)
    for launch in plan.launches:
        for cell in launch.cells:
            _measure(path, made, plan.cell(cell), launch, rng)
    return path


def _measure(path: Path, made: Made, cell: Cell, launch: LaunchPlan, rng: np.random.Generator) -> None:
    identity = {
        "schema": "weft-cell/2",
        "run": "made",
        "hash": cell.hash,
        "cell": cell.id,
        "launch": launch.id,
        "launch_index": launch.index,
        "kernel": cell.kernel,
        "ranks": cell.ranks,
    }
    status = made.failures.get((cell.id, launch.index), "ok")
    if status not in ("ok", "invalid"):
        write_cell(path, identity | {"status": status, "reason": f"made to be {status}; last phase: C warm"}, None)
        return
    segments, columns = [], []
    first = 0
    for op, phase, count, seconds, batch in _segments(made, cell):
        drift = 1 + made.launch_noise * rng.standard_normal()
        columns.append(_samples(rng, cell.ranks, count, seconds * drift * batch, made.noise))
        segments.append(
            {"op": op, "phase": phase, "first": first, "count": count, "batch": batch, "warmup": 25 * (phase == "warm")}
            | {"ended_by": "precision" if phase == "warm" else "single", "late": 0, "definition": made.definition}
            | {"columns": ["start_ns", "duration_ns", "delay"]}
        )
        first += count
    record = identity | {
        "status": status,
        "reason": "rank 1: vector 17 of block 0 holds 41, expected 40" if status == "invalid" else "",
        "segments": segments,
        "clock": {"method": "shared", "residual_ns": 12},
        "validation": {"performed": True, "errors": int(status == "invalid"), "detail": ""},
        "memory": {"need_node_bytes": 1, "available_node_bytes": 2, "formula": "unsorted + sorted"},
        "swap": {"in_pages": 0, "out_pages": 0},
        "steal_ns": 0,
        "wall_ns": 10**9,
        "warnings": [],
    }
    write_cell(path, record, np.concatenate(columns, axis=1))
    write_json(path / "launches" / f"{identity['launch']}.json", _launch(made, cell, identity["launch"]))


def _segments(made: Made, cell: Cell) -> list[tuple[str, str, int, float, int]]:
    if cell.kernel == "floor":
        copies = _copies(cell, made.copy_rate)
        latency = [("latency", "warm", 20, 4e-7, 1)] if cell.ranks > 1 else []
        return [("empty", "warm", 20, 5e-8, 1), *latency, *copies]
    p = cell.ranks
    main = made.seconds(cell.nodes, p, cell.local_bytes)
    times = {"A": 2e-6 * (1 + math.log2(p)), "B": 6e-6 * p, "C": main}
    beside = _copies(cell, made.copy_rate_beside, "floor:") if made.copy_rate_beside else []
    cold = [(op, "cold", 1, 3 * times[op], 1) for op in "ABC"]
    return [*cold, *((op, "warm", made.samples, times[op], 10 if op == "A" else 1) for op in "ABC"), *beside]


def _copies(cell: Cell, rate: float, before: str = "") -> list[tuple[str, str, int, float, int]]:
    faster = {16384: 4.0, 262144: 4.0, 4194304: 2.0, 67108864: 1.0}  # small buffers stay in the cache
    return [
        (f"{before}copy-{size}", "warm", 20, cell.ranks_per_node * size / rate / factor, 1)
        for size, factor in faster.items()
    ]


def _samples(rng: np.random.Generator, ranks: int, count: int, seconds: float, noise: float) -> np.ndarray:
    """Starts within 1 % of the duration of each other; the slowest rank of an iteration takes about ``seconds``."""
    ns = seconds * 1e9
    whole = ns * (1 + noise * rng.gamma(2.0, 1.0, (1, count)))
    start = np.arange(count) * 2 * ns + rng.uniform(0, 0.01 * ns, (ranks, count))
    end = np.arange(count) * 2 * ns + whole * (1 - 0.02 * rng.random((ranks, count)))
    duration = (end - start).astype(np.int64).clip(0)
    lost = np.where(rng.random((ranks, count)) < 0.01, duration // 2, 0)
    return np.stack([start.astype(np.int64), duration, lost], axis=2)


def _launch(made: Made, cell: Cell, launch: str) -> dict[str, Any]:
    per_node = cell.ranks_per_node
    return {
        "schema": "weft-launch/1",
        "launch": launch,
        "mpi_library": made.mpi,
        "mpi_standard": "3.1",
        "processor": "Made Processor 9000",
        "kernel_sources": "abc123",
        "clock": {"resolution_ns": 1, "cost_ns": 25, "method": "shared", "residual_ns": 0},
        "start": "barrier",
        "seed": 7,
        "page_bytes": 4096,
        "cache": "hot",
        "settings": {"OMPI_MCA_btl": "self,sm"},
        "ranks": [
            {"rank": r, "host": f"node{r // per_node}", "node": r // per_node, "local_rank": r % per_node}
            | {"cpus": str(r % per_node), "core": r % per_node, "pid": 100 + r, "memory_available_bytes": 1 << 30}
            for r in range(cell.ranks)
        ],
    }


def tara_like(memory: str = "24 GiB", kind: str = "simulated", *, fitted: bool = False, **changes: Any) -> Made:
    """A made run on 36 nodes whose times follow the papers' Tables 4.2 and 4.4 within some per cent."""

    def seconds(nodes: int, ranks: int, local: float) -> float:
        on_node = local * 8
        away = (on_node * (nodes - 1) / nodes / 4.6e9 + 127e-6 * ranks) if nodes > 1 else 0.0
        return on_node / 4.7e9 + away

    study = STUDY.format(launches=3, nodes=[1, 3, 9, 18, 36], ranks_per_node=8, n=1492992, symbol="N")
    settings: dict[str, Any] = {"samples": 20, "copy_rate": 4.7e9, "seconds": seconds}
    fabric = MANY.format(memory=memory, kind=kind) + (FITTED if fitted else "")
    return Made(**({"study": study, "fabric": fabric} | settings | changes))
