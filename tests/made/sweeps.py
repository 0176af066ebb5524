# SPDX-License-Identifier: BSD-3-Clause
"""Makes run folders of the kernels that sweep over sizes: valid files, without MPI and without measuring."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from made import folder
from weft.kernel.sizes import op_name
from weft.plan.records import Cell, LaunchPlan

OPEN_MPI = "Open MPI v5.0.11, package: made"
#: As MPI_T of Open MPI 5 shows them.
VALUES = {
    "btl_sm_eager_limit": "4096",
    "btl_vader_eager_limit": "4096",
    "btl_sm_max_send_size": "32768",
    "btl_tcp_eager_limit": "65536",
}
COLLECTIVE = """\
name = "made-calls"
title = "Collective calls on a made machine"
kernel = "collective"

[measure]
launches = 4
seed = 7
budget = "0.1 s"

[collective]
collectives = ["Bcast", "Alltoall"]
sizes = "1 B .. 1 MiB"
algorithms = "{algorithms}"

[[series]]
name = "sizes"
nodes = 1
ranks_per_node = 4
processes = [2, 4]
"""
BANDWIDTH = """\
name = "made-bandwidth"
title = "Bandwidth on a made machine"
kernel = "bandwidth"

[measure]
launches = 4
seed = 7
budget = "0.1 s"

[bandwidth]
patterns = ["intra-socket", "inter-socket", "inter-node"]
sizes = "1 B .. 4 MiB"
cache = "{cache}"

[[series]]
name = "pairs"
nodes = "1..nodes"
ranks_per_node = "cores"
"""
ONE_HOST = """\
name = "made-host"
kind = "local"
title = "A made host"

[node]
cores = 4
sockets = 2
copy_rate = "20 GB/s"
"""
TWO_NODES = """\
name = "made-pair"
kind = "virtual"
title = "Two made nodes"

[node]
names = "n[1-2]"
cores = 2
copy_rate = "20 GB/s"

[network]
latency = "1.2 us"
adapter_rate = "3.5 GB/s"
"""


def stepping(cell: Cell, size: int) -> float:
    """Seconds of one operation: 2.2 times as much beyond 4 KiB; between nodes the step is at 64 KiB."""
    limit = 65536 if cell.nodes > 1 else 4096
    return (1e-6 * cell.ranks + size / 4e9) * (2.2 if size >= limit else 1.0)


@dataclass
class MadeSweep:
    """What to make."""

    study: str = COLLECTIVE.format(algorithms="default")
    fabric: str = ONE_HOST
    seconds: Callable[[Cell, int], float] = stepping
    noise: float = 0.01
    mpi: str = OPEN_MPI
    named_settings: Mapping[str, str] = field(default_factory=lambda: dict(VALUES))


def make_sweep(path: Path, made: MadeSweep | None = None) -> Path:
    """Write a whole run folder and return its path."""
    made = made or MadeSweep()
    plan = folder.begin_folder(path, made.study, made.fabric, cores=4, library=made.mpi)
    rng = np.random.default_rng(plan.seed)
    for launch in plan.launches:
        for cell in map(plan.cell, launch.cells):
            if cell.kernel != "floor":
                write_cell(path, made, cell, launch, rng)
        write_launch(path, made, launch)
    return path


def write_cell(
    path: Path, made: MadeSweep, cell: Cell, launch: LaunchPlan, rng: np.random.Generator, run: str = "made"
) -> None:
    """Write samples and record of a cell in one launch, of the run of that id."""
    name = str(cell.parameters.get("collective", "send"))
    spans: list[tuple[str, str, int, float]] = [] if name == "send" else [("barrier", "warm", 20, 5e-7)]
    for size in cell.parameters["bytes"]:
        drift = 1 + made.noise * rng.standard_normal()
        seconds = made.seconds(cell, size)
        spans += [(op_name(name, size), "cold", 1, 5 * seconds), (op_name(name, size), "warm", 20, seconds * drift)]
    segments: list[dict[str, Any]] = []
    columns: list[np.ndarray] = []
    first = 0
    for op, phase, count, seconds in spans:
        ns = seconds * 1e9 * 100
        whole = (ns * np.exp(made.noise * rng.standard_normal(count))).astype(np.int64)
        start = (np.arange(count) * 2 * ns).astype(np.int64)
        columns.append(np.stack([start, whole, np.zeros(count, np.int64)], axis=1))
        segments.append(
            {"op": op, "phase": phase, "first": first, "count": count, "batch": 100, "warmup": 0}
            | {"ended_by": "precision", "late": 0, "definition": "local"}
        )
        first += count
    slab = np.concatenate(columns, axis=0)
    record = {
        "schema": "weft-cell/2",
        "run": run,
        "hash": cell.hash,
        "cell": cell.id,
        "launch": launch.id,
        "launch_index": launch.index,
        "kernel": cell.kernel,
        "ranks": cell.ranks,
        "status": "ok",
        "segments": segments,
        "clock": {"method": "shared", "residual_ns": 12},
        "validation": {"performed": True, "errors": 0, "detail": ""},
        "wall_ns": 10**9,
    }
    folder.write_cell(path, record, np.broadcast_to(slab, (cell.ranks, *slab.shape)))


def write_launch(path: Path, made: MadeSweep, launch: LaunchPlan) -> None:
    """Write the record of a launch."""
    record = {
        "schema": "weft-launch/1",
        "launch": launch.id,
        "mpi_library": made.mpi,
        "mpi_standard": "3.1",
        "processor": "Made Processor 9000",
        "clock": {"resolution_ns": 1, "cost_ns": 25},
        "start": "barrier",
        "settings": dict(launch.settings),
        "named_settings": dict(made.named_settings),
        "ranks": [
            {"rank": rank, "host": f"made{rank // launch.ranks_per_node}", "cpus": str(rank)}
            for rank in range(launch.ranks)
        ],
    }
    (path / "launches" / f"{launch.id}.json").write_text(json.dumps(record))
