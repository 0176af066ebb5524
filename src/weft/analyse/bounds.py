# SPDX-License-Identifier: BSD-3-Clause
"""The lower bound of each call: the plan's, or recomputed with the rates that the run itself measured."""

from collections.abc import Mapping
from typing import Any

from weft.analyse.floor import Floor
from weft.bound import Bound, PlacedCell, terms_of, with_rates
from weft.errors import FabricError
from weft.fabric.model import Fabric
from weft.kernel import kernel_named
from weft.kernel.sizes import split_op
from weft.kernel.traffic import Traffic

Row = dict[str, Any]

#: Kinds whose copy rate and latency are those of the machine underneath, which only a measurement knows.
MEASURED = frozenset({"local", "virtual"})


class Bounds:
    """Lower bounds of a run's calls.

    On a local or virtual fabric the measured copy rate and latency replace those of the file; on others they only fill
    in what the file does not give. The copy rate is taken at a working set of a block, so each call has its own.

    Parameters
    ----------
    plan
        The plan as plain data.
    floor
        The floor that the run measured.
    """

    def __init__(self, plan: Row, floor: Floor) -> None:
        self._floor = floor
        self._fabric = Fabric.model_validate(plan["planned_fabric"])

    def __call__(self, cell: Row, call: str) -> tuple[float, str] | None:
        """Seconds below which ``call`` of ``cell`` cannot fall, and what limits it; None where not known."""
        found = self._measured(cell, call) or self._planned(cell, call)
        return (found.seconds, found.name) if found else None

    def _planned(self, cell: Row, call: str) -> Bound | None:
        found = (cell.get("bounds") or {}).get(call)
        if found:
            return Bound.model_validate(found)
        # a size that the plan did not know: the kernel added it where the times leave their line
        traffic = traffic_of(cell, call)
        return bound_from(self._terms(cell, call, traffic, self._fabric)) if traffic and cell["hosts"] else None

    def _measured(self, cell: Row, call: str) -> Bound | None:
        traffic = traffic_of(cell, call)
        if traffic is None:
            return None
        nodes, per_node = cell["nodes"], cell["ranks_per_node"]
        block = traffic.staying(nodes, per_node) // per_node**2
        rate = self._floor.copy_rate(nodes, per_node, block)
        latency = self._floor.best_latency(nodes)
        node, network = self._fabric.node, self._fabric.network
        if self._fabric.kind not in MEASURED:
            rate = None if node.copy_rate else rate
            latency = None if (network or node).latency else latency
        if not rate and not latency:
            return None
        fabric = with_rates(self._fabric, copy_rate=rate or None, latency=latency or None)
        return bound_from(self._terms(cell, call, traffic, fabric))

    def _terms(self, cell: Row, call: str, traffic: Traffic, fabric: Fabric) -> dict[str, float]:
        """Terms at some rates; those of links as they were planned, since they do not depend on what was measured."""
        planned = (cell.get("bounds") or {}).get(call)
        links: dict[str, float] | None = None
        if planned:
            links = {
                name: seconds
                for name, seconds in planned["terms"].items()
                if name == "injection" or name.startswith("link ")
            }
        try:
            return terms_of(traffic, placed(cell), fabric, links)
        except FabricError:  # a dump is no part of a run folder: the bound is one without its links, only further away
            return terms_of(traffic, placed(cell), fabric, {})


def traffic_of(cell: Row, call: str) -> Traffic | None:
    """Traffic of a call of a cell, also at a size that refinement added (``alltoall@1448``); None where not known."""
    parameters, (_, size) = cell["parameters"], split_op(call)
    if size is not None and "bytes" in parameters:
        parameters = parameters | {"bytes": [size]}
    return kernel_named(cell["kernel"]).traffic(parameters, cell["ranks"]).get(call)


def placed(cell: Row) -> PlacedCell:
    """What a bound needs to know of a cell."""
    keys = ("kernel", "nodes", "ranks_per_node", "ranks", "parameters")
    return PlacedCell(**{key: cell[key] for key in keys}, hosts=tuple(cell["hosts"]))


def bound_from(terms: Mapping[str, float]) -> Bound | None:
    """The largest term; None of none."""
    if not terms:
        return None
    name = max(terms, key=lambda term: terms[term])
    return Bound(seconds=terms[name], name=name, terms=dict(terms))
