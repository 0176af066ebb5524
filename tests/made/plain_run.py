# SPDX-License-Identifier: BSD-3-Clause
"""Makes run folders of any kernel: every operation that it names takes a given time."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from made import folder
from made.sweeps import TWO_NODES, MadeSweep, write_launch
from made.traces import MadeRank
from weft.fabric.model import load_fabric
from weft.kernel.registry import kernel_named
from weft.plan.records import Cell, LaunchPlan
from weft.trace.replay import Asked, prepare

MS = 1_000_000
PROBE = """\
name = "made-probe"
kernel = "probe"

[measure]
launches = 4
seed = 7

[[series]]
name = "nodes"
nodes = [2]
ranks_per_node = 2
"""

JOBS_FABRIC = """\
name = "tables"
kind = "virtual"
[node]
names = "node[0-7]"
cores = 1
memory = "8 GiB"
[network]
topology = "fat-tree"
adapter_rate = "4 MB/s"
routing = "tables"
[network.tree]
nodes_per_leaf = 4
uplinks = 1
link_rate = "4 MB/s"
"""
JOBS = """\
name = "jobs"
kernel = "interference"
[measure]
launches = {launches}
seed = 7
[interference]
victims = ["allreduce", "stream"]
aggressors = ["shift"]
places = ["other-leaf", "alternating"]
rates = [50, 100]
[[series]]
name = "two-jobs"
nodes = [8]
ranks_per_node = 1
"""


def make_probe_run(path: Path) -> Path:
    """A run of a probe on two made nodes."""
    return make_plain_run(path, PROBE, lambda operation: 2e-6 if operation.startswith("trip") else 3e-4)


def make_replay_run(path: Path) -> Path:
    """A run of the replay of a made trace of two ranks; the trace lies beside it."""
    trace = path.with_name(f"{path.name}-trace")
    for rank in range(2):
        made = MadeRank(rank, 2, node=rank)
        made.call("MPI_Allreduce", 20 * MS, 30 * MS, bytes=8, received=8).write(trace / "raw")
    fabric = trace / "fabric.toml"
    fabric.write_text(TWO_NODES)
    study, _ = prepare(trace, [load_fabric(fabric)], Asked())
    absolute = study.read_text().replace('"replay.script"', f'"{trace / "replay.script"}"')
    return make_plain_run(path, f"{absolute}\n[measure]\nlaunches = 4\nseed = 7\n", lambda _: 0.028)


def slow_jobs(operation: str) -> float:
    """A stream takes 2.1 times as long beside traffic of the whole time, 1.3 times beside half of it."""
    base = 0.04 if operation.startswith("stream") else 1e-3
    return base * (1.3 if ".50@" in operation else 2.1 if "+" in operation else 1.0)


def make_jobs_run(
    path: Path, seconds: Callable[[str], float] = slow_jobs, launches: int = 6, hashed: bool = False
) -> Path:
    """A run of two jobs on the eight hosts of two leaves, with one cable from either leaf, or two by a hash."""
    fabric = JOBS_FABRIC.replace('"tables"', '"ecmp"').replace("uplinks = 1", "uplinks = 2") if hashed else JOBS_FABRIC
    return make_plain_run(path, JOBS.format(launches=launches), seconds, fabric)


def make_plain_run(path: Path, study: str, seconds: Callable[[str], float], fabric: str = TWO_NODES) -> Path:
    """Write a whole run folder, on two made nodes; ``seconds`` gives the time of an operation by its name."""
    plan = folder.begin_folder(path, study, fabric, cores=2)
    rng = np.random.default_rng(plan.seed)
    for launch in plan.launches:
        for cell in map(plan.cell, launch.cells):
            if cell.kernel != "floor":
                _measure(path, cell, launch, seconds, rng)
        write_launch(path, MadeSweep(), launch)
    return path


def _measure(
    path: Path, cell: Cell, launch: LaunchPlan, seconds: Callable[[str], float], rng: np.random.Generator
) -> None:
    segments: list[dict[str, Any]] = []
    slabs: list[np.ndarray] = []
    calls = kernel_named(cell.kernel).operations(cell.parameters, cell.ranks)
    rivals = [f"{call}:{word}" for call in calls for word in cell.parameters.get("guidelines", ())]
    hidden = ("alone", "compute", "hidden", "tested") if cell.parameters.get("overlap") else ()
    for operation in [*calls, *rivals, *(f"{call}:{word}" for call in calls for word in hidden)]:
        for phase, count, slower in (("cold", 1, 3.0), ("warm", 20, 1.0)):
            ns = slower * seconds(operation) * 1e9
            whole = (ns * (1 + 0.01 * rng.random(count))).astype(np.int64)
            start = (np.arange(count) * 2 * ns).astype(np.int64)
            segments.append(
                {"op": operation, "phase": phase, "first": sum(map(len, slabs)), "count": count, "batch": 1}
                | {"warmup": 0, "ended_by": "precision", "late": 0, "definition": "global"}
            )
            slabs.append(np.stack([start, whole, np.zeros(count, np.int64)], axis=1))
    record = {
        "schema": "weft-cell/2", "run": "made", "hash": cell.hash, "cell": cell.id, "launch": launch.id,
        "launch_index": launch.index, "kernel": cell.kernel, "ranks": cell.ranks, "status": "ok", "segments": segments,
        "clock": {"method": "shared", "residual_ns": 12}, "wall_ns": 10**9,
        "validation": {"performed": True, "errors": 0, "detail": ""},
    }  # fmt: skip
    slab = np.concatenate(slabs)
    folder.write_cell(path, record, np.broadcast_to(slab, (cell.ranks, *slab.shape)))
