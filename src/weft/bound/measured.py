# SPDX-License-Identifier: BSD-3-Clause
"""Lower bounds at measured rates: the best of memory and network, in place of the rates that a file states."""

from typing import Literal, Protocol

from weft.bound.placed import terms_of
from weft.bound.terms import COPY, INJECTION, LATENCY, LINK, Bound, BoundedCell, Placed, largest
from weft.errors import FabricError
from weft.fabric.model import Fabric
from weft.kernel.registry import kernel_named
from weft.kernel.sizes import split_op
from weft.kernel.traffic import Traffic

Basis = Literal["measured", "stated"]  # where the rate behind a bound is from: the run's own floor, or the fabric file


class MeasuredRates(Protocol):
    """Rates that a run measured on its machine (:class:`weft.analyse.floor.Floor`)."""

    def copy_rate(self, nodes: int, ranks_per_node: int, rank_bytes: int) -> float | None:
        """Best rate at which a node copies ``rank_bytes`` per rank, in bytes per second; None if not measured."""
        ...

    def best_latency(self, nodes: int) -> float | None:
        """Seconds of the shortest message one way, on a number of nodes; None if not measured."""
        ...


def with_rates(fabric: Fabric, *, copy_rate: float | None = None, latency: float | None = None) -> Fabric:
    """The fabric with measured rates: bytes/s that ranks of a node copy together, s one way between distant ranks."""
    node = fabric.node
    if copy_rate is not None:
        node = node.model_copy(update={"copy_rate": copy_rate})
    if latency is None:
        return fabric.model_copy(update={"node": node})
    network = fabric.network.model_copy(update={"latency": latency}) if fabric.network else None
    return fabric.model_copy(update={"node": node.model_copy(update={"latency": latency}), "network": network})


class Bounds:
    """Lower bounds of a run's calls.

    If the ranks run on this host (:attr:`weft.fabric.Fabric.runs_here`) the measured copy rate and latency replace
    those of the file; otherwise they only fill in what the file does not state. The copy rate is that at the working
    set of a call: the bytes that each rank copies within its node (METHOD 16).
    """

    def __init__(self, fabric: Fabric, rates: MeasuredRates) -> None:
        self._fabric, self._rates = fabric, rates

    def __call__(self, cell: BoundedCell, call: str) -> tuple[float, str, Basis] | None:
        """The lower bound of a call in seconds, the name of its term, and where its rate is from; None if not known."""
        measured, own = self._measured(cell, call)
        found = measured or self._planned(cell, call)
        return (found.seconds, found.name, "measured" if found.name in own else "stated") if found else None

    def _planned(self, cell: BoundedCell, call: str) -> Bound | None:
        if call in cell.bounds:
            return cell.bounds[call]
        # a size that is not in the plan: refinement added it
        traffic = traffic_of(cell, call)
        return largest(self._terms(cell, call, traffic, self._fabric)) if traffic and cell.hosts else None

    def _measured(self, cell: BoundedCell, call: str) -> tuple[Bound | None, set[str]]:
        """The bound at measured rates, and the terms that have one; none where nothing was measured."""
        traffic = traffic_of(cell, call)
        if traffic is None:
            return None, set()
        nodes, per_node = cell.nodes, cell.ranks_per_node
        rate = self._rates.copy_rate(nodes, per_node, traffic.staying(nodes, per_node) // per_node)
        latency = self._rates.best_latency(nodes)
        node, network = self._fabric.node, self._fabric.network
        if not self._fabric.runs_here:
            rate = None if node.copy_rate else rate
            latency = None if (network or node).latency else latency
        if not rate and not latency:
            return None, set()
        fabric = with_rates(self._fabric, copy_rate=rate or None, latency=latency or None)
        own = {name for name, value in ((COPY, rate), (LATENCY, latency)) if value}
        return largest(self._terms(cell, call, traffic, fabric)), own

    def _terms(self, cell: BoundedCell, call: str, traffic: Traffic, fabric: Fabric) -> dict[str, float]:
        """Terms at the rates of ``fabric``; those of links as in the plan, which do not depend on measured rates."""
        links: dict[str, float] | None = None
        if call in cell.bounds:
            terms = cell.bounds[call].terms
            links = {name: seconds for name, seconds in terms.items() if name == INJECTION or name.startswith(LINK)}
        try:
            return terms_of(traffic, cell, fabric, links)
        except FabricError:  # a run folder does not contain the dump: the bound without links is lower, but valid
            return terms_of(traffic, cell, fabric, {})


def traffic_of(cell: Placed, call: str) -> Traffic | None:
    """Traffic of a call of a cell, also at a size that refinement added (``alltoall@1448``); None if not known."""
    parameters, (_, size) = cell.parameters, split_op(call)
    if size is not None and "bytes" in parameters:
        parameters = {**parameters, "bytes": [size]}
    return kernel_named(cell.kernel).traffic(parameters, cell.ranks).get(call)
