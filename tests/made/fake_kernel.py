# SPDX-License-Identifier: BSD-3-Clause
"""A kernel without MPI: reads the flat plan that Weft wrote and writes the files that weft-measure would write.

And a launcher that starts it in this process, with faults planted by launch or cell.
"""

import json
import os
import zlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from weft.launch.launcher import LaunchRequest, Outcome
from weft.plan.wire import Rules

SAMPLES = 12


@dataclass
class FlatPlan:
    """The flat plan, read by rules of its own: what Weft writes must be what the contract says."""

    head: dict[str, str] = field(default_factory=dict)
    cells: list[dict[str, str]] = field(default_factory=list)


def read_plan(path: Path) -> FlatPlan:
    """Read ``key value`` lines and ``cell`` ... ``end`` sections."""
    plan, cell = FlatPlan(), None
    for line in path.read_text().split("\n"):
        key, _, value = line.partition(" ")
        if value.startswith('"'):
            value = value[1:-1].encode().decode("unicode_escape").encode("latin-1").decode()
        if key == "cell":
            cell = {"cell": value}
            plan.cells.append(cell)
        elif key == "end":
            cell = None
        elif line and not line.startswith("#"):
            (plan.head if cell is None else cell)[key] = value
    assert plan.head["weft-plan"] == "2"
    assert Path(plan.head["folder"]).is_absolute()
    return plan


def status(request: LaunchRequest, cell: str, words: str) -> None:
    """Write every rank's status slot."""
    slot = f"{cell} {words}".encode().ljust(64, b"\0")
    (request.folder / "launches" / f"{request.id}.status").write_bytes(slot * request.ranks)


def measure(request: LaunchRequest, plan: FlatPlan, cell: dict[str, str], verdict: str = "ok") -> None:
    """Write the samples and the record of one cell."""
    stem = Path(plan.head["folder"]) / "cells" / f"{cell['cell']}.l{plan.head['launch_index']}"
    asked = cell.get("calls", "").split()
    ops = asked or ["empty"]
    segments: list[dict[str, Any]] = []
    first = 0
    for op in ops:
        for phase, count in (("cold", 1), ("warm", SAMPLES)) if asked else (("warm", SAMPLES),):
            segments.append({"op": op, "phase": phase, "first": first, "count": count, "batch": 1, "warmup": 0})
            segments[-1] |= {"ended_by": "samples", "late": 0, "definition": "global"}
            segments[-1]["columns"] = ["start_ns", "duration_ns", "delay"]
            first += count
    samples = np.zeros((request.ranks, first, 3), "<i8")
    samples[:, :, 0] = np.arange(first) * 10_000
    # process id and time make each measurement unlike any other: a cell measured again would show
    samples[:, :, 1] = 1000 + np.random.default_rng().integers(0, 1000, (request.ranks, first))
    np.save(stem.with_name(stem.name + ".npy"), samples)
    record = {
        "schema": "weft-cell/2", "cell": cell["cell"], "launch": request.id, "status": verdict,
        "reason": "the kernel's own reason" if verdict == "launch" else "",
        "run": plan.head["run"], "hash": cell["hash"],
        "launch_index": int(plan.head["launch_index"]), "kernel": cell["kernel"], "ranks": request.ranks,
        "shape": list(samples.shape), "crc32": [zlib.crc32(slab.tobytes()) for slab in samples], "segments": segments,
        "definition": "global", "clock": {"method": "shared", "residual_ns": 12},
        "validation": {"performed": True, "errors": 0, "detail": ""},
    }  # fmt: skip
    stem.with_name(stem.name + ".json").write_text(json.dumps(record))


def launch_record(request: LaunchRequest, plan: FlatPlan) -> None:
    """Write the provenance of a launch."""
    hosts = [
        request.nodes[r // request.ranks_per_node] if len(request.nodes) > 1 else "here" for r in range(request.ranks)
    ]
    ranks = [
        {
            "rank": r,
            "host": hosts[r],
            "node": 0,
            "local_rank": r,
            "cpus": str(r),
            "core": r,
            "pid": os.getpid(),
            "init_ns": 200_000_000 + r,
        }
        for r in range(request.ranks)
    ]
    record = {
        "schema": "weft-launch/1", "launch": request.id, "mpi_library": "Fake MPI 1.0", "mpi_standard": "3.1",
        "processor": "fake", "kernel_sources": "fake", "clock": {"resolution_ns": 1, "cost_ns": 20}, "start": "barrier",
        "seed": int(plan.head["seed"]), "page_bytes": 4096, "cache": "hot", "settings": {}, "ranks": ranks,
    }  # fmt: skip
    (request.folder / "launches" / f"{request.id}.json").write_text(json.dumps(record))


@dataclass
class FakeLauncher:
    """Fulfils the Launcher protocol in this process.

    ``faults`` maps the id of a launch or of a cell to ``crash``, ``hang``, ``start``, ``invalid``, ``interrupt`` or
    ``silent`` (ends well, but leaves no record), ``refuse`` (the kernel's own row, of a status that is tried again) or
    ``word`` (the kernel complains and ends before it comes to a cell).
    """

    faults: dict[str, str] = field(default_factory=dict)
    library: str = "Fake MPI 1.0"
    kernels: str = "fake-1"
    started: list[str] = field(default_factory=list)
    measured: list[str] = field(default_factory=list)
    limits: list[float] = field(default_factory=list)
    closed: int = 0
    wall_s: float = 0.1
    rules: Rules = field(default_factory=Rules)
    before: Callable[[LaunchRequest], None] = lambda request: None

    def provenance(self) -> dict[str, Any]:
        """Describe the fake."""
        return {
            "launcher": "fake", "mpi": self.library, "mpi_library": self.library, "mpicxx": "/fake/mpicxx",
            "kernels": self.kernels,
        }  # fmt: skip

    def run(self, requests: Sequence[LaunchRequest]) -> Iterator[Outcome]:
        """Run each request's plan."""
        try:
            for request in requests:
                self.started.append(request.id)
                self.limits.append(request.limit_s)
                self.before(request)
                yield self._one(request)
        finally:
            self.closed += 1

    def _one(self, request: LaunchRequest) -> Outcome:
        request.log.write_text("")
        fault = self.faults.get(request.id, "")
        if fault == "start":
            request.log.write_text("There are not enough slots available\n")
            return Outcome(request.id, 1, 0.1, False, request.log)
        if fault == "word":
            request.log.write_text(
                "noise\nweft-measure: error: rank 0: no such thing\n  -> bring it\nmpiexec: exit 1\n"
            )
            return Outcome(request.id, 1, 0.1, False, request.log)
        plan = read_plan(request.plan)
        launch_record(request, plan)
        for cell in plan.cells:
            fault = self.faults.get(cell["cell"], self.faults.get(request.id, ""))
            status(request, cell["cell"], "C warm measuring")
            if fault == "interrupt":
                raise KeyboardInterrupt
            if fault == "crash":
                request.log.write_text("rank 1: something broke\n")
                return Outcome(request.id, 137, 0.1, False, request.log)
            if fault == "hang":
                return Outcome(request.id, 143, request.limit_s, True, request.log)
            if fault != "silent":
                self.measured.append(f"{cell['cell']}.l{plan.head['launch_index']}")
                measure(request, plan, cell, {"invalid": "invalid", "refuse": "launch"}.get(fault, "ok"))
        return Outcome(request.id, 3 if fault == "invalid" else 0, self.wall_s, False, request.log)
