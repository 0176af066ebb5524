# SPDX-License-Identifier: BSD-3-Clause
"""Lower bounds of a placed cell's operations (:mod:`weft.bound.terms`), at measured rates where these are better.

`spread_terms` are those of its ranks on twice the nodes. The least time of the blocks that one rank exchanges on an
idle network stands beside messages measured in this way (:mod:`weft.kernel.steps`): several at once, in both
directions; the fullest link for its rate decides.
"""

from collections.abc import Mapping
from statistics import median
from typing import Literal, Protocol

import numpy as np

from weft.bound.effects import effects
from weft.bound.links import injection_term, link_term, network_of
from weft.bound.terms import (
    COPY,
    INJECTION,
    LATENCY,
    LINK,
    Bound,
    BoundedCell,
    Placed,
    PlacedCell,
    copy_rate,
    largest,
    message_terms,
)
from weft.errors import FabricError
from weft.fabric.loads import pair_loads
from weft.fabric.model import Fabric
from weft.kernel.registry import kernel_named
from weft.kernel.sizes import split_op
from weft.kernel.traffic import Traffic

MOST_STARTS = 8  # number of nodes whose paths to all others are followed


def alone_s_per_byte(cell: Placed, fabric: Fabric) -> float | None:
    """Seconds per byte of a block on the fullest link, the median over nodes; None if not known. FabricError."""
    section = fabric.network
    if section is None or cell.nodes < 2 or cell.ranks != cell.nodes * cell.ranks_per_node:
        return None
    others = cell.ranks - cell.ranks_per_node
    if section.topology == "star" and not section.rates:
        return others / section.adapter_rate if section.adapter_rate else None
    if not cell.hosts:
        return None
    network, _ = network_of(fabric)
    chosen = network.indices(list(cell.hosts)).astype(np.int32)
    found: list[float] = []
    for start in chosen[:: max(1, len(chosen) // MOST_STARTS)]:  # a byte to and from each other node
        others = chosen[chosen != start]
        own, each = np.full_like(others, start), np.ones(len(others))
        loads = np.maximum(pair_loads(network, own, others, each), pair_loads(network, others, own, each))
        found.append(float((loads / network.links.rate).max()) * cell.ranks_per_node)
    return median(found) if all(np.isfinite(found)) else None


def bounds(cell: Placed, fabric: Fabric) -> dict[str, Bound]:
    """Lower bound of each operation with known traffic and stated rates; FabricError without its network."""
    moved = kernel_named(cell.kernel).traffic(cell.parameters, cell.ranks)
    found: dict[str, Bound] = {}
    for call, traffic in moved.items():
        if least := largest(terms_of(traffic, cell, fabric)):
            left_out = effects(traffic, cell, fabric, least.terms)
            found[call] = least.model_copy(update={"effects": left_out})
    return found


def main_of(kernel: str, found: Mapping[str, Bound]) -> Bound | None:
    """Bound of the kernel's main operation, or of the last one if the study omits the main one."""
    main = kernel_named(kernel).main
    return found.get(main) or next(reversed(list(found.values())), None)


def terms_of(
    traffic: Traffic, cell: Placed, fabric: Fabric, links: Mapping[str, float] | None = None
) -> dict[str, float]:
    """Seconds of each term of the bound that is not 0; FabricError without its network."""
    if links is None:
        links = injection_term(traffic, cell, fabric) | link_term(traffic, cell, fabric)
    rate = copy_rate(fabric, cell)
    copying = {COPY: traffic.staying(cell.nodes, cell.ranks_per_node) / rate} if rate else {}
    terms = copying | dict(links) | message_terms(traffic, cell, fabric)
    return {name: seconds for name, seconds in terms.items() if seconds > 0}


def spread_terms(cell: Placed, call: str, fabric: Fabric) -> Mapping[str, float]:
    """Seconds of each term with the ranks on twice the nodes, the fabric's next ones; empty if impossible."""
    more = [host for host in fabric.hosts if host not in cell.hosts]
    even = cell.ranks_per_node % 2 == 0 and cell.ranks == cell.nodes * cell.ranks_per_node
    kernel = kernel_named(cell.kernel)
    if cell.nodes < 2 or not even or len(more) < cell.nodes or not kernel.collectives(cell.parameters):
        return {}
    hosts = (*cell.hosts, *more[: cell.nodes])
    wide = PlacedCell(cell.kernel, 2 * cell.nodes, cell.ranks_per_node // 2, cell.ranks, hosts, cell.parameters)
    traffic = kernel.traffic(cell.parameters, cell.ranks).get(call)
    try:
        return terms_of(traffic, wide, fabric) if traffic else {}
    except FabricError:  # a dump that stayed on another machine
        return {}


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
        traffic = traffic_of(cell, call)
        found, own = self._measured(cell, call, traffic) if traffic else (None, set[str]())
        found = found or cell.bounds.get(call)
        if found is None and traffic and cell.hosts:  # a size that is not in the plan: refinement added it
            found = largest(self._terms(cell, call, traffic, self._fabric))
        return (found.seconds, found.name, "measured" if found.name in own else "stated") if found else None

    def _measured(self, cell: BoundedCell, call: str, traffic: Traffic) -> tuple[Bound | None, set[str]]:
        """The bound at measured rates, and the terms that have one; none where nothing was measured."""
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
        terms = cell.bounds[call].terms if call in cell.bounds else {}
        links = {name: seconds for name, seconds in terms.items() if name == INJECTION or name.startswith(LINK)}
        try:
            return terms_of(traffic, cell, fabric, links if call in cell.bounds else None)
        except FabricError:  # a run folder does not contain the dump: the bound without links is lower, but valid
            return terms_of(traffic, cell, fabric, {})


def traffic_of(cell: Placed, call: str) -> Traffic | None:
    """Traffic of a call of a cell, also at a size that refinement added (``alltoall@1448``); None if not known."""
    parameters, (_, size) = cell.parameters, split_op(call)
    if size is not None and "bytes" in parameters:
        parameters = {**parameters, "bytes": [size]}
    return kernel_named(cell.kernel).traffic(parameters, cell.ranks).get(call)
