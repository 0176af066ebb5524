# SPDX-License-Identifier: BSD-3-Clause
r"""Lower bounds of a time (METHOD 16): nothing can be faster than its slowest part.

An operation that moves bytes between p = N r ranks on N nodes takes at least

.. math::
    t \ge \max\Bigl( \max_i \frac{c_i}{R_\mathrm{copy}},\quad \max_i \frac{o_i}{R_\mathrm{adapter}},\quad
    \max_l \frac{b_l}{R_l},\quad k\,\lambda,\quad s\,\tau \Bigr)

memory copy
    c_i, bytes copied between ranks of node i (a rank's own block among them: it goes from one array to the other), over
    the rate at which all cores of a node copy together.
injection
    o_i, bytes that leave node i, over the rate of its adapter. As many enter it at the same rate.
link leaf<i> up, link pod<i> up, ...
    b_l, bytes over the link that is loaded most, over its rate. In a fat tree all uplinks of a leaf (and of a pod,
    where there are three levels) share what leaves it evenly, the best a routing can do: they count as one link of
    their summed rate. What comes down equals what goes up in every pattern here. A dragonfly, a torus and an imported
    dump are cut in the same way (``link group0 out``, ``link x 0-3 out``); in a simulation, whose routes are known, the
    most loaded cable counts where it is worse than every cut (:mod:`weft.link_bound`).
latency
    k rounds that must follow one another, of one latency each: ceil(log2 p) for A, 1 for calls whose blocks go straight
    to their rank.
message cost
    s messages a rank must send, at the time each costs it; only where the fabric states one.

On a virtual fabric what a link's bucket lets pass at once (:mod:`weft.fabric.shaping`) is taken off its bytes. A term
whose rate the fabric does not give is left out. The largest is the bound, and its name says what to look at.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from pydantic import BaseModel

from weft.fabric.model import Fabric
from weft.kernel import kernel_named
from weft.kernel.traffic import Traffic
from weft.link_bound import injection_term, link_term


class Bound(BaseModel, frozen=True, extra="forbid"):
    """A lower bound of a time.

    Attributes
    ----------
    seconds
        The largest term.
    name
        Its name: ``memory copy``, ``injection``, ``link leaf0 up``, ``link pod0 up``, ``latency``, ``message cost``.
    terms
        All of them, in seconds.
    """

    seconds: float
    name: str
    terms: dict[str, float]


class Placed(Protocol):
    """What a bound needs to know of a cell (:class:`weft.plan.Cell` has it)."""

    @property
    def kernel(self) -> str: ...
    @property
    def nodes(self) -> int: ...
    @property
    def ranks_per_node(self) -> int: ...
    @property
    def ranks(self) -> int: ...
    @property
    def hosts(self) -> tuple[str, ...]: ...
    @property
    def parameters(self) -> Mapping[str, Any]: ...


@dataclass(frozen=True)
class PlacedCell:
    """Just that, of a cell that is not of a plan in hand: a stored one, or one of a table."""

    kernel: str
    nodes: int
    ranks_per_node: int
    ranks: int
    hosts: tuple[str, ...]
    parameters: Mapping[str, Any]


def bounds(cell: Placed, fabric: Fabric) -> dict[str, Bound]:
    """Lower bound of each operation of a cell whose traffic is known and for which the fabric gives a rate."""
    found: dict[str, Bound] = {}
    for call, traffic in kernel_named(cell.kernel).traffic(cell.parameters, cell.ranks).items():
        terms = terms_of(traffic, cell, fabric)
        if terms:
            name = max(terms, key=lambda term: terms[term])
            found[call] = Bound(seconds=terms[name], name=name, terms=terms)
    return found


def bound(cell: Placed, fabric: Fabric, call: str | None = None) -> Bound | None:
    """Lower bound of one operation of a cell; None where nothing is known of it.

    Parameters
    ----------
    cell
        A placed cell.
    fabric
        With its rates: as planned, or with measured ones (:func:`with_rates`).
    call
        Name of the operation; the cell's main one by default (:func:`main_of`).
    """
    found = bounds(cell, fabric)
    return found.get(call) if call else main_of(cell.kernel, found)


def main_of(kernel: str, found: Mapping[str, Bound]) -> Bound | None:
    """Bound of the kernel's main operation, or of the last one where the study leaves that one out."""
    main = kernel_named(kernel).main
    return found.get(main) or next(reversed(list(found.values())), None)


def with_rates(fabric: Fabric, *, copy_rate: float | None = None, latency: float | None = None) -> Fabric:
    """The fabric with measured rates in place of those its file gives.

    Parameters
    ----------
    copy_rate
        Bytes per second that the ranks of a node copy together.
    latency
        Seconds one way, between the ranks of the cell that are furthest apart.
    """
    node = fabric.node
    if copy_rate is not None:
        node = node.model_copy(update={"copy_rate": copy_rate})
    if latency is None:
        return fabric.model_copy(update={"node": node})
    network = fabric.network.model_copy(update={"latency": latency}) if fabric.network else None
    return fabric.model_copy(update={"node": node.model_copy(update={"latency": latency}), "network": network})


def terms_of(
    traffic: Traffic, cell: Placed, fabric: Fabric, links: Mapping[str, float] | None = None
) -> dict[str, float]:
    """Seconds of each term of the bound; those that are 0 (nothing moves that way) are left out.

    Parameters
    ----------
    traffic, cell, fabric
        What is moved, between whom, and at which rates.
    links
        The terms of links where they are known already, from a plan: an analysis has no dump to build a network from.
    """
    network = fabric.network if cell.nodes > 1 else None
    latency = network.latency if network else fabric.node.latency if cell.nodes == 1 else None
    terms: dict[str, float] = {}
    if fabric.node.copy_rate:
        terms["memory copy"] = traffic.staying(cell.nodes, cell.ranks_per_node) / fabric.node.copy_rate
    if links is None:
        links = injection_term(traffic, cell, fabric) | link_term(traffic, cell, fabric)
    terms.update(links)
    if latency:
        terms["latency"] = traffic.rounds * latency
    if network and network.message_cost:
        terms["message cost"] = traffic.messages * network.message_cost
    return {name: seconds for name, seconds in terms.items() if seconds > 0}
