# SPDX-License-Identifier: BSD-3-Clause
"""Models of a cell's time: the closed form, which is instant, and the simulation, which takes seconds per cell."""

from collections.abc import Sequence
from pathlib import Path

from weft.bound.placed import terms_of
from weft.bound.terms import PlacedCell, closed_form
from weft.errors import LaunchError
from weft.fabric.model import Fabric
from weft.fit.inputs import MeasuredCell
from weft.kernel.exchange.kernel import Exchange
from weft.launch.launcher import Launcher, LaunchRequest
from weft.plan.records import LaunchCell
from weft.plan.wire import FlatHead, Rules, flat_launch
from weft.study import Measure

KERNEL = Exchange()  # cells of a fit have n and m, which only this kernel has
UNLIMITED = Measure.model_validate({"budget": "1000 s", "limit": "10000 s"})


def placed(fabric: Fabric, cell: MeasuredCell) -> PlacedCell:
    """Place a cell on its hosts; on the first nodes if the cell states no hosts or the fabric does not have them."""
    values = {"n": cell.n, "m": cell.m, "data": "contention", "calls": [cell.call]}
    there = bool(cell.hosts) and set(cell.hosts) <= set(fabric.hosts)
    hosts = cell.hosts if there else fabric.hosts[: cell.nodes]
    return PlacedCell(KERNEL.name, cell.nodes, cell.ranks_per_node, cell.ranks, hosts, values)


def bound_time(fabric: Fabric, cell: MeasuredCell) -> float:
    """Seconds of a cell by the closed form (:func:`weft.bound.terms.closed_form`)."""
    where = placed(fabric, cell)
    terms = terms_of(KERNEL.traffic(where.parameters, cell.ranks)[cell.call], where, fabric)
    return closed_form(terms, where, fabric, KERNEL.sizes(where.parameters, cell.ranks).block)


def simulated_times(fabric: Fabric, cells: Sequence[MeasuredCell], launcher: Launcher, folder: Path) -> list[float]:
    """Simulated times of cells in seconds; the simulations run in ``folder``.

    Raises LaunchError: A simulation failed; gives the end of its output.
    """
    from weft.store.cells import read_cell

    (folder / "launches").mkdir(parents=True, exist_ok=True)
    requests = [request(fabric, cell, f"c{number:03}", folder, launcher.rules) for number, cell in enumerate(cells)]
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


def request(fabric: Fabric, cell: MeasuredCell, name: str, folder: Path, rules: Rules) -> LaunchRequest:
    """The launch of one cell."""
    where = placed(fabric, cell)
    asked = LaunchCell(name, KERNEL.name, where.parameters, cell.ranks)
    plan = folder / "launches" / f"{name}.l1.plan"
    plan.write_text(flat_launch(FlatHead(f"{name}.l1", 1, folder), [asked], UNLIMITED, rules))
    return LaunchRequest(
        id=f"{name}.l1", ranks=cell.ranks, nodes=where.hosts, ranks_per_node=cell.ranks_per_node, order=cell.order,
        oversubscribed=False, plan=plan, folder=folder, limit_s=0.0,
        cells=(asked,),
    )  # fmt: skip
