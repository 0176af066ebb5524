# SPDX-License-Identifier: BSD-3-Clause
"""Models of a cell's time: the bound with message costs, at once; and the simulation, in seconds a cell."""

from collections.abc import Callable, Sequence
from pathlib import Path

from weft.bound import PlacedCell, terms_of
from weft.errors import LaunchError
from weft.fabric.model import Fabric
from weft.fit.inputs import MeasuredCell
from weft.kernel import kernel_named
from weft.launch.launcher import Launcher, LaunchRequest

KERNEL = "exchange"


def placed(fabric: Fabric, cell: MeasuredCell) -> PlacedCell:
    """Put a cell where it ran; on the first nodes where nothing is said of that, or the fabric has no such nodes."""
    values = {"n": cell.n, "m": cell.m, "data": "contention", "calls": [cell.call]}
    there = bool(cell.hosts) and set(cell.hosts) <= set(fabric.hosts)
    hosts = cell.hosts if there else fabric.hosts[: cell.nodes]
    return PlacedCell(KERNEL, cell.nodes, cell.ranks_per_node, cell.ranks, hosts, values)


def bound_time(fabric: Fabric, cell: MeasuredCell) -> float:
    r"""Closed form of a cell's time.

    .. math:: T = \max(t_\mathrm{copy}, t_\mathrm{injection}, t_\mathrm{link}) + (p - r) o

    with the terms of :mod:`weft.bound` and o what a message to another node costs its sender: message_cost, and
    rendezvous_latency on top where the block is larger than the eager limit.
    """
    where = placed(fabric, cell)
    traffic = kernel_named(KERNEL).traffic(where.parameters, cell.ranks)[cell.call]
    terms = terms_of(traffic, where, fabric)
    moving = max((seconds for name, seconds in terms.items() if name not in ("latency", "message cost")), default=0.0)
    network = fabric.network
    if cell.nodes == 1 or network is None:
        return moving + terms.get("latency", 0.0)
    block = kernel_named(KERNEL).sizes(where.parameters, cell.ranks).block
    eager = network.eager_limit is None or block <= network.eager_limit
    cost = network.message_cost + (0.0 if eager else network.rendezvous_latency or 0.0)
    return moving + (cell.ranks - cell.ranks_per_node) * cost + terms.get("latency", 0.0)


def simulated_times(fabric: Fabric, cells: Sequence[MeasuredCell], launcher: Launcher, folder: Path) -> list[float]:
    """Simulated times of cells, in a folder of their own.

    Raises
    ------
    LaunchError
        A simulation ended badly: with the last of what it printed.
    """
    from weft.store.cells import read_cell

    (folder / "launches").mkdir(parents=True, exist_ok=True)
    requests = [request(fabric, cell, f"c{number:03}", folder) for number, cell in enumerate(cells)]
    for outcome in launcher.run(requests):
        if outcome.returncode != 0:
            tail = outcome.log.read_text(errors="replace").strip().splitlines()[-3:]
            raise LaunchError(f"the simulation of {outcome.id} failed: {' '.join(tail)}", f"see {outcome.log}")
    times: list[float] = []
    for number, _ in enumerate(cells):
        rows = read_cell(folder, f"c{number:03}", 1).samples
        if rows is None:
            raise LaunchError(f"the simulation of cell c{number:03} has no samples", f"see {folder}/cells")
        last = rows[:, -1, :]  # the warm sample of the one call
        times.append(float((last[:, 0] + last[:, 1]).max() - last[:, 0].min()) / 1e9)
    return times


def request(fabric: Fabric, cell: MeasuredCell, name: str, folder: Path) -> LaunchRequest:
    """The launch of one cell."""
    where = placed(fabric, cell)
    lines = [
        "weft-plan 1", f"launch {name}.l1", "launch_index 1", "seed 1", f"folder {folder.resolve()}", "io posix",
        "start barrier", "precision 0.05", "min_samples 1", "max_samples 1", "warmup_most 0",
        "budget_ns 1000000000000", "limit_ns 0", "memory_limit_bytes 0", f"cell {name}", f"kernel {KERNEL}",
        *kernel_named(KERNEL).flat(where.parameters), "end",
    ]  # fmt: skip
    plan = folder / "launches" / f"{name}.l1.plan"
    plan.write_text("\n".join(lines) + "\n")
    return LaunchRequest(
        id=f"{name}.l1", ranks=cell.ranks, nodes=where.hosts, ranks_per_node=cell.ranks_per_node, order=cell.order,
        oversubscribed=False, plan=plan, folder=folder, limit_s=0.0,
    )  # fmt: skip


Launch = Callable[[Fabric], Launcher]
"""Makes what simulates a fabric."""
