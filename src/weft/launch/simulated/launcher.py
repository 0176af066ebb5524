# SPDX-License-Identifier: BSD-3-Clause
"""The launcher for simulated ranks: several launches side by side, which only slow each other's wall clock."""

import math
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from threading import Event, Lock
from typing import Any

import numpy as np

from weft.fabric.model import Fabric
from weft.fabric.network.build import build_network
from weft.fabric.simulation import PATH_BYTES
from weft.files.atomic import write_atomic, write_json
from weft.format import format_bytes, format_seconds
from weft.host import read_host, smallest
from weft.kernel.registry import kernel_named
from weft.launch.launcher import LaunchRequest, Outcome
from weft.launch.local import kept, without_job
from weft.launch.preload import route_library
from weft.launch.simulated.learned import Learned, Seen, in_waves
from weft.launch.simulated.machine import INFINIBAND, describe_machine, host_file, host_slots
from weft.launch.simulated.simgrid import MACHINE, Programs, build_programs, eager_below, find_simgrid, options
from weft.mpi.algorithms import SELECTED_BY
from weft.plan.records import LaunchCell
from weft.plan.schedules import Scheduled, in_rounds, rounds_cost
from weft.plan.simulation_budget import (
    SHARED_ABOVE,
    START_S,
    Cost,
    content_matters,
    cost_of_actors,
    refusal,
    simulation_of,
)
from weft.plan.wire import Rules

ORDER = "rounds.json"  # ending of the file with what is computed in rounds
NEVER_FOLD, FOLD_ABOVE = str(2**62), str(SHARED_ABOVE)
# Full looks at all flows whenever one ends, Lazy keeps a heap of them. Up to so many ranks Full is a quarter cheaper,
# at a thousand many times dearer; times differ by 0.1 % where many flows end at once.
FULL_UP_TO = 300
SLACK = 2.0  # a simulation may take this many times its budget in processor time: what it costs is only estimated


class SimulatedLauncher:
    """Fulfils :class:`weft.launch.launcher.Launcher` in a simulator."""

    def __init__(
        self, fabric: Fabric, programs: Programs, say: Callable[[str], None] = lambda _: None, workers: int = 0
    ) -> None:
        self.fabric, self.programs, self.say = fabric, programs, say
        self.simulation, self.network = simulation_of(fabric), build_network(fabric)
        self.eager_limit = fabric.network.eager_limit if fabric.network else None
        self.workers = workers or read_host().cores
        self.learned, self.learns = Learned(), True
        self.decided: dict[tuple[Path, str], Mapping[str, Sequence[Scheduled]]] = {}
        self.slots, self.free = Lock(), list(range(self.workers))

    @property
    def rules(self) -> Rules:
        """A time that is the same every time is not taken a hundred times, nor warmed up for."""
        return Rules(io="posix", samples=self.simulation.samples, watchdog=False)

    def provenance(self) -> dict[str, Any]:
        """Describe the simulator and its options."""
        simgrid = self.programs.simgrid
        return {
            "launcher": "simulated",
            "simulated": True,
            "io": "posix",
            "mpi": f"SimGrid SMPI {simgrid.version}, algorithms of {self.simulation.collectives}",
            "mpi_library": f"SMPI {simgrid.version}",
            "mpicxx": str(simgrid.smpicxx),
            "mpiexec": str(simgrid.smpirun),
            "kernels": self.programs.folder.name,
            "options": self.options(),
        }

    def options(self, cells: Sequence[LaunchCell] = (), settings: Mapping[str, str] | None = None) -> dict[str, str]:
        """SimGrid's options for this fabric and these cells; ``settings`` choose another library for a call."""
        measured = {call for cell in cells for call in kernel_named(cell.kernel).collectives(cell.parameters)}
        chosen = {f"smpi/{call}": (settings or {}).get(SELECTED_BY + call.upper()) for call in measured}
        found = options(self.simulation, self.eager_limit, measured)
        if any(kernel_named(cell.kernel).runs_ahead for cell in cells):  # costs a quarter of a simulation's time
            found["smpi/async-small-thresh"] = str(eager_below(self.eager_limit))  # bytes leave when they are sent
        return found | {key: library for key, library in chosen.items() if library is not None}

    def run(self, requests: Sequence[LaunchRequest]) -> Iterator[Outcome]:
        """Start the requests side by side, as many as there are cores, and yield their outcomes in order. They start in
        waves of rising cost, and each wave is decided by what those before it have taken.
        """
        stop, asked = Event(), {request.id: request for request in requests}
        costs = {name: self.cost(request) for name, request in asked.items()}
        waves = in_waves({name: cost.seconds for name, cost in costs.items()}, self.simulation.budget)
        begun: dict[str, Future[Outcome]] = {}
        with ThreadPoolExecutor(self.workers) as pool:
            for wave in waves:
                before = tuple(begun.values())  # they have all been taken off the queue before this wave's first
                begun |= {name: pool.submit(self._after, before, asked[name], costs[name], stop) for name in wave}
            try:
                for request in requests:
                    yield begun[request.id].result()
            finally:
                stop.set()
                for future in begun.values():
                    future.cancel()

    def command(self, request: LaunchRequest) -> list[str]:
        """The command that simulates a request; :meth:`prepare` writes its files."""
        if self.in_rounds(request):
            return [sys.executable, "-m", "weft.launch.simulated.rounds", str(request.file(ORDER))]
        return [
            str(self.programs.simgrid.smpirun), "-wrapper", f"env LD_PRELOAD={MACHINE}",
            "-np", str(request.ranks), "-platform", str(self.programs.machine), "-hostfile", str(request.file("hosts")),
            f"--cfg=network/optim:{'Full' if request.ranks <= FULL_UP_TO else 'Lazy'}",
            *(f"--cfg={key}:{value}" for key, value in self.options(request.cells, request.environment).items()),
            "--log=root.thres:critical", str(self.programs.kernels), str(request.plan),
        ]  # fmt: skip

    def prepare(self, request: LaunchRequest) -> dict[str, str]:
        """Write the input files of a simulation; returns the variables with their paths."""
        network = self.fabric.network
        pairs = all(kernel_named(cell.kernel).has_pair_samples for cell in request.cells)
        fabric = self.fabric.model_copy(update={"network": network.of_pairs}) if network and pairs else self.fabric
        machine = describe_machine(fabric, request.nodes, request.ranks_per_node, self.network)
        write_atomic(request.file("machine"), machine.encode())
        if calls := self.in_rounds(request):
            write_json(request.file(ORDER), self.order(request, calls))
            return {}
        shared = self.simulation.model == INFINIBAND
        slots = host_file(request.nodes, request.ranks, request.ranks_per_node, request.order, shared=shared)
        write_atomic(request.file("hosts"), slots.encode())
        fold = NEVER_FOLD if content_matters(request.cells) else FOLD_ABOVE
        # The machine library goes before SimGrid's. By its name alone: paths with blanks cannot be preloaded.
        found = [str(self.programs.folder), *filter(None, [os.environ.get("LD_LIBRARY_PATH")])]
        return {
            "WEFT_PLATFORM": str(request.file("machine")),
            "WEFT_FOLD_ABOVE": fold,
            "LD_LIBRARY_PATH": os.pathsep.join(found),
        }

    def order(self, request: LaunchRequest, calls: Mapping[str, Sequence[Scheduled]]) -> dict[str, Any]:
        """What :mod:`weft.launch.simulated.rounds` computes for a request."""
        head = dict(line.split(" ", 1) for line in request.plan.read_text(encoding="utf-8").splitlines()[1:4])
        cells = [
            {"id": cell.id, "kernel": cell.kernel, "hash": cell.hash, "ranks": cell.ranks,
             "samples": self.simulation.samples, "calls": [asdict(each) for each in calls[cell.id]],
             "blocks": blocks_of(request, cell, calls[cell.id])}
            for cell in request.cells
        ]  # fmt: skip
        return {
            "machine": str(request.file("machine")), "library": str(route_library(self.say).path),
            "folder": str(request.folder), "launch": request.id, "index": int(head["launch_index"]),
            "run": head["run"].strip('"'),
            "mpi_library": f"rounds by the costs of SMPI {self.programs.simgrid.version}", "hosts": list(request.nodes),
            "ranks_per_node": request.ranks_per_node,
            "slots": host_slots(len(request.nodes), request.ranks, request.ranks_per_node, request.order),
            "eager_bytes": eager_below(self.eager_limit), "path_bytes": float(PATH_BYTES[self.simulation.sharing]),
            "cells": cells,
        }  # fmt: skip

    def in_rounds(self, request: LaunchRequest) -> Mapping[str, Sequence[Scheduled]]:
        """The calls of each cell of a request that is computed in rounds; empty if actors simulate it."""
        key = (request.folder, request.id)
        if key not in self.decided:  # once: the memory that is free may change
            limit = smallest(read_host().limits)
            self.decided[key] = in_rounds(
                self.fabric, request.cells, request.ranks, request.ranks_per_node, request.environment,
                most_bytes=limit.bytes if limit else None,
            )  # fmt: skip
        return self.decided[key]

    def cost(self, request: LaunchRequest) -> Cost:
        """Expected cost of a request on this host, by what was calibrated."""
        if calls := self.in_rounds(request):
            return rounds_cost(calls, request.ranks, len(request.nodes), self.simulation.samples)
        return cost_of_actors(self.fabric, request.cells, request.ranks, request.environment)

    def refusal(self, request: LaunchRequest, estimate: Cost) -> str:
        """Why a request of this expected cost is not simulated, by what this run has learned; empty if it is."""
        cost, learned = self.learned.corrected(request.folder, estimate) if self.learns else (estimate, "")
        limit = smallest(read_host().limits)
        if limit and cost.memory_bytes > limit.bytes:
            return (
                f"simulating {request.ranks} ranks needs about {format_bytes(cost.memory_bytes)} of this host, and "
                f"{limit.by} leaves {format_bytes(limit.bytes)}"
            )
        why = refusal(cost, request.ranks, self.simulation, learned)
        if not why and refusal(estimate, request.ranks, self.simulation):
            self.say(f"{request.id} is simulated after all, in about {format_seconds(cost.seconds)}: {learned}")
        return why

    def _after(self, before: Sequence[Future[Outcome]], request: LaunchRequest, estimate: Cost, stop: Event) -> Outcome:
        """Simulate a request once those of the waves ``before`` have ended."""
        while not stop.is_set() and wait(before, timeout=0.2).not_done:
            pass
        if why := self.refusal(request, estimate):
            write_atomic(request.log, f"weft: not simulated: {why}\n".encode())
            return Outcome(request.id, 1, 0.0, False, request.log, refused=f"not simulated: {why}")
        variables = {**without_job(os.environ), **self.prepare(request), **request.environment}
        # Processor time: that others keep this host busy must not decide what a study finds.
        cpu_s = math.ceil(SLACK * self.simulation.budget) if request.limit_s else 0
        began, taken_s = time.monotonic(), 0.0
        command = self.command(request)
        with self._slot() as lock, kept(command, variables, request.log, request.folder, lock, cpu_s) as keeper:
            while keeper.returncode is None and not stop.is_set():
                time.sleep(0.02)
                taken_s = processor_s(keeper)
        code, wall_s = keeper.wait(), time.monotonic() - began
        timed_out = code in (128 + signal.SIGXCPU, -signal.SIGXCPU)
        limit = f"{format_seconds(cpu_s)} of processor time" if timed_out else ""
        if code == 0 or timed_out:
            seen = Seen(request.id, request.ranks, estimate.kind, estimate.seconds, max(0.0, taken_s - START_S))
            self.learned.take(request.folder, seen)
        return Outcome(request.id, code, wall_s, timed_out, request.log, limit=limit, processor_s=taken_s)

    @contextmanager
    def _slot(self) -> Generator[str]:
        """Name of a launch lock: each of the launches holds its own, for which the next Weft in the folder waits."""
        with self.slots:
            slot = self.free.pop()
        try:
            yield f"lock.{slot}" if slot else "lock"
        finally:
            with self.slots:
                self.free.append(slot)


def blocks_of(request: LaunchRequest, cell: LaunchCell, calls: Sequence[Scheduled]) -> list[str]:
    """Files with the blocks between the ranks in each call, written; empty names where all are equal."""
    found = [str(request.file(f"blocks.{cell.id}.{k}.npy")) if call.is_uneven else "" for k, call in enumerate(calls)]
    for path, call in zip(found, calls, strict=True):
        if path:
            blocks = kernel_named(cell.kernel).blocks_between(cell.parameters, cell.ranks, call.block_bytes)
            np.save(path, blocks.astype(np.float64))
    return found


def processor_s(keeper: subprocess.Popen[bytes]) -> float:
    """Look whether a keeper has ended; the seconds of processor time that its launch took, 0 if it still runs."""
    pid, status, usage = os.wait4(keeper.pid, os.WNOHANG)
    if not pid:
        return 0.0
    keeper.returncode = os.waitstatus_to_exitcode(status)
    return usage.ru_utime + usage.ru_stime


def make_launcher(fabric: Fabric, mpicxx: str | None, say: Callable[[str], None], only: str = "") -> SimulatedLauncher:
    """Return the launcher of simulated ranks; LaunchError without SimGrid or build, FabricError for a missing value."""
    return SimulatedLauncher(fabric, build_programs(find_simgrid(mpicxx), say), say)
