# SPDX-License-Identifier: BSD-3-Clause
"""Lower bounds of a placed cell's operations (:mod:`weft.bound.terms`), at measured rates where these are better.

`spread_terms` are those of its ranks on twice the nodes; `alone_s_per_byte` is the least time of the blocks of one
rank on an idle network, beside messages measured in this way (:mod:`weft.kernel.steps`).

What a network does that the model of this fabric (flows that share links max-min on one route) does not is an
`Effect`, a range of a time (docs/simulated.md). Adaptive and Valiant routing spread bytes over more links than the
simulated minimal routes: a time may be shorter, down to the cuts; Valiant's loads these twice (Kim, Dally, Scott,
Abts, "Technology-driven, highly-scalable dragonfly topology", 2008, section 4). Flows that leave one adapter slow
each other, by credits and head-of-line blocking, up to ``network.flow_penalty``: 1.35 in presets of InfiniBand, the
most by which SimGrid's model divides a rate, measured on Stampede (Vienne, "Prediction de performances d'applications
de calcul haute performance sur reseau Infiniband", 2010); a fitted rate has it already. Incast over TCP: what a
switch cannot buffer waits for a retransmission, 200 ms at least in Linux; up to nine tenths of the throughput is lost
(Vasudevan et al., "Safe and effective fine-grained TCP retransmissions for datacenter communication", 2009).
"""

from collections.abc import Mapping
from statistics import median
from typing import Literal, NamedTuple

import numpy as np

from weft.bound.links import injection_term, link_term, minimal_seconds, network_of
from weft.bound.terms import (
    COPY,
    INJECTION,
    LINK,
    Bound,
    BoundedCell,
    Effect,
    Placed,
    PlacedCell,
    copy_rate,
    largest,
    largest_s,
    message_terms,
)
from weft.errors import FabricError
from weft.fabric.loads import pair_loads
from weft.fabric.model import Fabric
from weft.fabric.numbers import standing
from weft.kernel import DIRECT
from weft.kernel.registry import kernel_named
from weft.kernel.sizes import split_op
from weft.kernel.traffic import Traffic

FLOWS, INCAST = "flows through one adapter", "incast"
MEASURE = "measure one cell and fit to it: weft fabric fit"
RETRANSMISSION_S = 0.2  # shortest time after which Linux sends a lost TCP segment again (TCP_RTO_MIN)
COLLAPSE = 10.0  # largest factor by which incast was seen to lower the throughput
PORT_BUFFER = 64 * 2**10  # bytes that a switch is assumed to hold for one port
MOST_STARTS = 8  # number of nodes whose paths to all others are followed
Terms = Mapping[str, float]  # seconds of each term, by its name
Basis = Literal["measured", "stated"]  # where the rate behind a bound is from: the run's own floor, or the fabric file


class Cause(NamedTuple):
    """What an effect does, in words, and what would narrow the range."""

    what: str
    remedy: str


CAUSES: Mapping[str, Cause] = {
    "adaptive routing": Cause(
        "bytes spread over more links than the minimal routes that are simulated", "take both ends of the range"
    ),
    "valiant routing": Cause(
        "bytes go by way of a random group, not by the minimal routes that are simulated", "take both ends of the range"
    ),
    FLOWS: Cause(
        "credits and head-of-line blocking slow flows that share an adapter by up to network.flow_penalty",
        f'{MEASURE}; or set simulation.model = "infiniband"',
    ),
    INCAST: Cause(
        "TCP loses packets where many ranks send to one, and waits 200 ms and more for each retransmission", MEASURE
    ),
}


def effects(traffic: Traffic, cell: Placed, fabric: Fabric, terms: Terms) -> tuple[Effect, ...]:
    """Effects that the model of a fabric leaves out of an operation, by the bound's terms in s; FabricError. None on
    one node, or of a fabric that is no model.
    """
    network = fabric.network
    if not fabric.is_model or network is None or cell.nodes < 2:
        return ()
    found: list[Effect] = []
    if network.routing != "minimal":
        least_s = largest_s(terms)
        minimal_s = max(least_s, minimal_seconds(traffic, cell, fabric))
        cut_s = largest_s({name: seconds for name, seconds in terms.items() if name.startswith(LINK)})
        more_s = max(0.0, 2 * cut_s - minimal_s) if network.routing == "valiant" else 0.0
        found.append(Effect(cause=f"{network.routing} routing", less_s=minimal_s - least_s, more_s=more_s))
    several = traffic.messages > 1 or cell.ranks_per_node > 1
    if several and network.flow_penalty is not None and not _has_penalty(fabric):
        found.append(Effect(cause=FLOWS, more_s=(network.flow_penalty - 1) * terms.get(INJECTION, 0.0)))
    senders, arriving = traffic.converging(cell.nodes, cell.ranks_per_node)
    if network.transport == "tcp" and senders > 1 and arriving > PORT_BUFFER and network.adapter_rate:
        collapsed_s = (COLLAPSE - 1) * arriving / network.adapter_rate
        found.append(Effect(cause=INCAST, more_s=max(RETRANSMISSION_S, collapsed_s)))
    return tuple(each for each in found if each.less_s > 0 or each.more_s > 0)


def left_out(cell: BoundedCell, call: str, fabric: Fabric, seconds: float) -> tuple[Effect, ...]:
    """What the model of a fabric leaves out of an operation that took ``seconds`` in it. The plan's bound has it where
    the traffic is known; else (a replay) all in calls may be bytes that the effect reaches. Of collectives but
    all-to-alls nobody knows which ranks send to which, so neither what other routes change.
    """
    known = cell.bounds[call].effects if call in cell.bounds else None
    kernel = kernel_named(cell.kernel)
    network = fabric.network if fabric.is_model and cell.nodes > 1 else None
    calls_s = kernel.calls_s(cell.parameters, seconds)
    if network is None or calls_s <= 0:
        return known or ()
    found: list[Effect] = []
    if network.routing != "minimal" and (known is None or kernel.collective_of(call) not in ("", *DIRECT)):
        twice_s = calls_s if network.routing == "valiant" else 0.0
        found.append(Effect(cause=f"{network.routing} routing", less_s=calls_s, more_s=twice_s))
    if known is not None:
        causes = {effect.cause for effect in found}
        return (*found, *(effect for effect in known if effect.cause not in causes))
    if kernel.collective_of(call):  # a barrier: its messages carry no bytes that could collide
        return tuple(found)
    if network.flow_penalty is not None and not _has_penalty(fabric):
        found.append(Effect(cause=FLOWS, more_s=(network.flow_penalty - 1) * calls_s))
    if network.transport == "tcp":
        found.append(Effect(cause=INCAST, more_s=max(RETRANSMISSION_S, (COLLAPSE - 1) * calls_s)))
    return tuple(found)


def _has_penalty(fabric: Fabric) -> bool:
    """Whether what flows of one adapter cost each other is in the model or in a fitted rate."""
    penalised = fabric.simulation is not None and fabric.simulation.model == "infiniband"
    return penalised or standing(fabric, "network.adapter_rate") == "fitted"


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
    found: dict[str, Bound] = {}
    for call, traffic in kernel_named(cell.kernel).traffic(cell.parameters, cell.ranks).items():
        if least := largest(terms_of(traffic, cell, fabric)):
            found[call] = least.model_copy(update={"effects": effects(traffic, cell, fabric, least.terms)})
    return found


def main_of(kernel: str, found: Mapping[str, Bound]) -> Bound | None:
    """Bound of the kernel's main operation, or of the last one if the study omits the main one."""
    return found.get(kernel_named(kernel).main) or next(reversed(list(found.values())), None)


def terms_of(traffic: Traffic, cell: Placed, fabric: Fabric, links: Terms | None = None) -> dict[str, float]:
    """Seconds of each term of the bound that is not 0; FabricError without its network."""
    if links is None:
        links = injection_term(traffic, cell, fabric) | link_term(traffic, cell, fabric)
    rate = copy_rate(fabric, cell)
    copying = {COPY: traffic.staying(cell.nodes, cell.ranks_per_node) / rate} if rate else {}
    terms = copying | dict(links) | message_terms(traffic, cell, fabric)
    return {name: seconds for name, seconds in terms.items() if seconds > 0}


def spread_terms(cell: Placed, call: str, fabric: Fabric) -> Terms:
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


def with_rates(fabric: Fabric, *, copy_rate: float | None = None, latency: float | None = None) -> Fabric:
    """The fabric with measured rates: bytes/s that ranks of a node copy together, s one way between distant ranks."""
    node = fabric.node
    if copy_rate is not None:
        node = node.model_copy(update={"copy_rate": copy_rate})
    if latency is None:
        return fabric.model_copy(update={"node": node})
    network = fabric.network.model_copy(update={"latency": latency}) if fabric.network else None
    return fabric.model_copy(update={"node": node.model_copy(update={"latency": latency}), "network": network})


def traffic_of(cell: Placed, call: str) -> Traffic | None:
    """Traffic of a call of a cell, also at a size that refinement added (``alltoall@1448``); None if not known."""
    parameters, (_, size) = cell.parameters, split_op(call)
    if size is not None and "bytes" in parameters:
        parameters = {**parameters, "bytes": [size]}
    return kernel_named(cell.kernel).traffic(parameters, cell.ranks).get(call)
