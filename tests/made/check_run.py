# SPDX-License-Identifier: BSD-3-Clause
"""A launcher of made checks: runs the rounds of the flat plan in this process, with the times of a made machine."""

import json
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from made.checks import crossed, noise_of
from made.fake_kernel import FlatPlan, read_plan
from weft.fabric.hops import walk
from weft.fabric.loads import both_ways, filled_shares, loads_of, name_cable
from weft.fabric.model import Fabric
from weft.fabric.network.build import build_followed
from weft.launch.launcher import LaunchRequest, Outcome
from weft.plan.wire import Rules

SAMPLES = 8
#: Half a round trip of 8 B, and what a large message takes, in ns.
SHORT_NS, LONG_NS = 2_000, 100_000


@dataclass
class MadeCheck:
    """Fulfils the Launcher protocol for a study of matchings.

    Attributes
    ----------
    slow
        Kind and name of each slow part to its factor, for the launches of a pass: the first, then the second.
    reports
        What single nodes report otherwise than their peers, by name.
    refused
        Why a kernel refuses to measure the pairs; they are measured where this is empty.
    is_model
        Whether nodes report nothing, as in a simulator.
    ends_after
        Rounds after which the time of each pass is over; all by default.
    warnings
        What the kernel of the pairs warns of.
    passes
        Plans that were run.
    """

    fabric: Fabric
    slow: Sequence[dict[tuple[str, str], float]]
    sigma: float = 0.02
    reports: dict[str, dict[str, Any]] = field(default_factory=dict[str, dict[str, Any]])
    refused: str = ""
    is_model: bool = False
    ends_after: int = 1000
    warnings: Sequence[str] = ()
    passes: list[FlatPlan] = field(default_factory=list[FlatPlan])
    rules: Rules = field(default_factory=Rules)

    def provenance(self) -> dict[str, Any]:
        """Describe the fake."""
        return {"launcher": "made", "mpi": "Made MPI 1", "mpi_library": "Made MPI 1", "mpicxx": "/made", "kernels": "1"}

    def run(self, requests: Sequence[LaunchRequest]) -> Iterator[Outcome]:
        """Run each request's plan."""
        for request in requests:
            request.log.write_text("")
            plan = read_plan(request.plan)
            _write_launch(request, plan)
            self.passes.append(plan)
            for cell in plan.cells:
                if cell["kernel"] == "pairs":
                    self._measure(request, plan, cell)
                else:
                    _write(request, plan, cell, np.full((request.ranks, 1, 3), 1000, np.int64), [_segment("empty")])
            yield Outcome(request.id, 0, 0.1, False, request.log)

    def _measure(self, request: LaunchRequest, plan: FlatPlan, cell: dict[str, str]) -> None:
        network = build_followed(self.fabric)
        hosts = network.indices(list(request.nodes))
        rounds = [
            np.array([pair.split("-") for pair in each.split(",")], np.int32) for each in cell["pairs"].split(" ")
        ][: self.ends_after]
        slow = self.slow[min(len(self.passes), len(self.slow)) - 1]
        cables = [name_cable(network, cable) for cable in range(len(network.links) // 2)]
        columns: list[Any] = []
        segments: list[dict[str, Any]] = []
        for number, pairs in enumerate(rounds):
            partner = np.arange(request.ranks)
            partner[pairs[:, 0]], partner[pairs[:, 1]] = pairs[:, 1], pairs[:, 0]
            _add(columns, segments, f"partner.r{number}", "cold", partner, columns_of=["", "partner", ""])
            source = np.concatenate([pairs[:, 0], pairs[:, 1]])
            target = np.concatenate([pairs[:, 1], pairs[:, 0]])
            load = loads_of(both_ways(pairs, network, hosts), network)
            excess = np.ones(len(source))
            routes = walk(network, hosts[source], hosts[target])
            filled = filled_shares(routes, network, np.zeros(len(routes), np.int64))
            for (kind, name), factor in slow.items():
                own = crossed(network, kind, name, hosts[source], hosts[target], routes)
                if kind == "cable":  # it first loses what its messages leave of its rate
                    links = np.isin(routes // 2, [at for at, each in enumerate(cables) if each == name])
                    factor *= np.where(links, filled, 0.0).max(axis=1)[own]
                excess[own] = np.maximum(excess[own], factor)
            for size in map(int, cell["bytes"].split()):
                dice = np.random.default_rng([number, size, len(self.passes)])
                noise = np.exp(noise_of("normal", self.sigma, np.zeros(len(source), int), source, target, dice))
                whole = SHORT_NS * noise if size < 1024 else LONG_NS * load * excess * noise
                one_way, trip = np.zeros(request.ranks), np.zeros(request.ranks)
                one_way[source] = whole
                back = np.concatenate([whole[len(pairs) :], whole[: len(pairs)]])
                trip[source] = whole + back
                op = f"all.r{number}@{size}"
                _add(columns, segments, op, "cold", trip, batch=2)
                _add(columns, segments, op, "warm", trip, batch=2, count=SAMPLES)
                paired = np.where(trip > 0, SAMPLES, 0)
                _add(columns, segments, f"forward.{op}", "warm", paired, one_way,
                     columns_of=["start_ns", "forward_samples", "forward_ns"])  # fmt: skip
        nodes = [report_of(number, name) | self.reports.get(name, {}) for number, name in enumerate(request.nodes)]
        nodes = [] if self.is_model else nodes
        _write(request, plan, cell, np.concatenate(columns, axis=1), segments, nodes, self.refused, self.warnings)


def report_of(number: int, name: str) -> dict[str, Any]:
    """What a healthy node reports (native/measure/cell/node_report.cpp)."""
    dice = np.random.default_rng(number)
    return {
        "host": name, "node": number, "began_ns": 10**18 + int(dice.integers(10**8)), "init_ns": 800_000_000,
        "mpi": "Made MPI 1", "kernel": "6.1.0", "cpus": 2, "copy_bytes": 2**22, "loop_ns": 250_000,
        "copy_ns": int(400_000 * np.exp(dice.normal(0, 0.01))), "waited_ns": 10**6, "wall_ns": 10**9,
        "network_sent": 10**6, "adapters": 1, "adapter_sent": 10**9, "errors": {}, "rates": {"mlx5_0/1": "100 Gb/sec"},
    }  # fmt: skip


def _segment(op: str, phase: str = "warm", first: int = 0, count: int = 1, batch: int = 1) -> dict[str, Any]:
    found = {"op": op, "phase": phase, "first": first, "count": count, "batch": batch, "warmup": 0}
    return found | {"ended_by": "samples", "late": 0, "definition": "local",
                    "columns": ["start_ns", "duration_ns", "others"]}  # fmt: skip


def _add(columns: list[Any], segments: list[dict[str, Any]], op: str, phase: str, second: Any, third: Any = None,
         *, batch: int = 1, count: int = 1, columns_of: Sequence[str] = ()) -> None:  # fmt: skip
    rows = np.zeros((len(second), count, 3), np.int64)
    rows[:, :, 1] = np.round(second)[:, np.newaxis]
    if third is not None:
        rows[:, :, 2] = np.round(third)[:, np.newaxis]
    segments.append(_segment(op, phase, sum(each.shape[1] for each in columns), count, batch))
    if columns_of:
        segments[-1]["columns"] = list(columns_of)
    columns.append(rows)


def _write(
    request: LaunchRequest,
    plan: FlatPlan,
    cell: dict[str, str],
    samples: Any,
    segments: list[dict[str, Any]],
    nodes: Sequence[dict[str, Any]] = (),
    refused: str = "",
    warnings: Sequence[str] = (),
) -> None:
    stem = Path(plan.head["folder"]) / "cells" / f"{cell['cell']}.l{plan.head['launch_index']}"
    samples = np.ascontiguousarray(samples.astype("<i8"))
    np.save(stem.with_name(stem.name + ".npy"), samples)
    record = {
        "schema": "weft-cell/2", "cell": cell["cell"], "launch": request.id, "status": "ok", "reason": "",
        "run": plan.head["run"], "hash": cell["hash"], "launch_index": int(plan.head["launch_index"]),
        "kernel": cell["kernel"], "ranks": request.ranks, "shape": list(samples.shape),
        "crc32": [zlib.crc32(slab.tobytes()) for slab in samples], "segments": segments, "definition": "local",
        "clock": {"method": "shared", "residual_ns": 1}, "validation": {"performed": True, "errors": 0, "detail": ""},
        "nodes": list(nodes), "wall_ns": 10**9, "warnings": list(warnings),
    }  # fmt: skip
    if refused:
        stem.with_name(stem.name + ".npy").unlink()
        record = {
            name: record[name] for name in record if name not in ("shape", "crc32", "segments", "definition", "nodes")
        }
        record |= {"status": "memory", "reason": refused}
    stem.with_name(stem.name + ".json").write_text(json.dumps(record))


def _write_launch(request: LaunchRequest, plan: FlatPlan) -> None:
    per = request.ranks_per_node
    ranks = [
        {"rank": r, "host": request.nodes[r // per], "node": r // per, "local_rank": r % per, "cpus": f"{r % per}",
         "core": r % per, "pid": r + 1, "init_ns": 200_000_000 + r} for r in range(request.ranks)
    ]  # fmt: skip
    record = {
        "schema": "weft-launch/1", "launch": request.id, "mpi_library": "Made MPI 1", "mpi_standard": "3.1",
        "processor": "made", "kernel_sources": "1", "clock": {"resolution_ns": 1, "cost_ns": 20}, "start": "barrier",
        "seed": int(plan.head["seed"]), "page_bytes": 4096, "cache": "hot", "settings": {}, "ranks": ranks,
    }  # fmt: skip
    (request.folder / "launches" / f"{request.id}.json").write_text(json.dumps(record))
