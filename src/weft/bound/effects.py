# SPDX-License-Identifier: BSD-3-Clause
"""What a network does that the model of this fabric does not, as a range of a time (docs/simulated.md).

The model lets flows share links max-min fairly on one route between two hosts. Three things differ from that:

- Adaptive and Valiant routing spread bytes over more links than the minimal routes that are simulated: a time may be
  shorter, down to that of the cuts, which no routing can beat. Valiant's loads the cuts twice (Kim, Dally, Scott, Abts,
  "Technology-driven, highly-scalable dragonfly topology", 2008, section 4).
- Flows that leave one adapter slow each other, by credits and head-of-line blocking, up to ``network.flow_penalty``:
  1.35 in presets of InfiniBand, the most by which SimGrid's InfiniBand model divides a rate, measured on Stampede
  (Vienne, "Prediction de performances d'applications de calcul haute performance sur reseau Infiniband", 2010). A rate
  that was fitted to measured cells has this in it already.
- Incast over TCP: more bytes than a switch buffers for a port are lost and wait for a retransmission, 200 ms at least
  in Linux; up to nine tenths of the throughput is lost (Vasudevan et al., "Safe and effective fine-grained TCP
  retransmissions for datacenter communication", 2009).
"""

from collections.abc import Mapping
from typing import NamedTuple

from weft.bound.links import minimal_seconds
from weft.bound.terms import INJECTION, LINK, BoundedCell, Effect, Placed, largest_s
from weft.fabric.model import Fabric
from weft.fabric.numbers import standing
from weft.kernel import DIRECT
from weft.kernel.registry import kernel_named
from weft.kernel.traffic import Traffic


class Cause(NamedTuple):
    """What an effect does, in words, and what would narrow the range."""

    what: str
    remedy: str


FLOWS, INCAST = "flows through one adapter", "incast"
MEASURE = "measure one cell and fit to it: weft fabric fit"
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

RETRANSMISSION_S = 0.2  # shortest time after which Linux sends a lost TCP segment again (TCP_RTO_MIN)
COLLAPSE = 10.0  # largest factor by which incast was seen to lower the throughput
PORT_BUFFER = 64 * 2**10  # bytes that a switch is assumed to hold for one port


def effects(traffic: Traffic, cell: Placed, fabric: Fabric, terms: Mapping[str, float]) -> tuple[Effect, ...]:
    """Effects that the model of a fabric leaves out of an operation; none on one node, or of a fabric that is no model.

    Raises FabricError: The network cannot be built. `traffic`, `cell`, `fabric`: the bytes moved, the ranks and
    nodes, and the rates. `terms`: the terms of the bound, in seconds.
    """
    network = fabric.network
    if not fabric.is_model or network is None or cell.nodes < 2:
        return ()
    found = [_routing(traffic, cell, fabric, terms)] if network.routing != "minimal" else []
    several = traffic.messages > 1 or cell.ranks_per_node > 1
    if several and network.flow_penalty is not None and not _has_penalty(fabric):
        found.append(Effect(cause=FLOWS, more_s=(network.flow_penalty - 1) * terms.get(INJECTION, 0.0)))
    senders, arriving = traffic.converging(cell.nodes, cell.ranks_per_node)
    if network.transport == "tcp" and senders > 1 and arriving > PORT_BUFFER and network.adapter_rate:
        collapsed_s = (COLLAPSE - 1) * arriving / network.adapter_rate
        found.append(Effect(cause=INCAST, more_s=max(RETRANSMISSION_S, collapsed_s)))
    return tuple(each for each in found if each.less_s > 0 or each.more_s > 0)


def _routing(traffic: Traffic, cell: Placed, fabric: Fabric, terms: Mapping[str, float]) -> Effect:
    assert fabric.network is not None
    routing = fabric.network.routing
    least_s = largest_s(terms)
    minimal_s = max(least_s, minimal_seconds(traffic, cell, fabric))
    cut_s = largest_s({name: seconds for name, seconds in terms.items() if name.startswith(LINK)})
    more_s = max(0.0, 2 * cut_s - minimal_s) if routing == "valiant" else 0.0
    return Effect(cause=f"{routing} routing", less_s=minimal_s - least_s, more_s=more_s)


def left_out(cell: BoundedCell, call: str, fabric: Fabric, seconds: float) -> tuple[Effect, ...]:
    """What the model of a fabric leaves out of an operation that took ``seconds`` in it.

    Where the traffic is known, the plan's bound has it. Otherwise (a replay) all that passed in calls may be bytes that
    the effect reaches, and the range is as wide as that. Of a collective that is no all-to-all the bound knows what any
    algorithm must move, but not which ranks send to which: how much other routes change is as little known.
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
