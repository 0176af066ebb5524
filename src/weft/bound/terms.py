# SPDX-License-Identifier: BSD-3-Clause
r"""Lower bounds of a time (METHOD 16): an operation cannot be faster than its slowest part.

An operation that moves bytes between p = N r ranks on N nodes takes at least

.. math::
    t \ge \max\Bigl( \max_i \frac{c_i}{R_\mathrm{copy}},\quad \max_i \frac{o_i}{R_\mathrm{adapter}},\quad
    \max_l \frac{b_l}{R_l},\quad k\,\lambda,\quad s\,\tau \Bigr)

memory copy
    c_i, bytes copied between ranks of node i (a rank's own block included: it goes from one array to the other), over
    the rate at which all cores of a node copy together.
injection
    o_i, bytes that leave node i, over the rate of its adapter. The same number enter it at the same rate.
link leaf<i> up, link pod<i> up, ...
    b_l, bytes over the most loaded link, over its rate. In a fat tree all uplinks of a leaf (and of a pod, with three
    levels) share the traffic evenly, the best a routing can do: they count as one link of their total rate. Traffic
    down equals traffic up in every pattern here. For a dragonfly, a torus and an imported dump the terms are those of
    cuts (``link group0 out``, ``link x 0-3 out``); in a simulation, whose routes are known, the most loaded cable
    counts if it is slower than every cut (:mod:`weft.bound.links`).
latency
    k successive rounds of one latency each: ceil(log2 p) for A, 1 for calls whose blocks go directly to their rank.
message cost
    s messages a rank must send, times the cost of each; only if the fabric states the cost.

On a virtual fabric the burst of a link's token bucket (:mod:`weft.fabric.shaping`) is subtracted from its bytes. A term
whose rate the fabric does not state is omitted. The largest term is the bound, and its name is the limiting resource.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from pydantic import BaseModel

from weft.fabric.model import Fabric
from weft.kernel.traffic import Traffic

COPY = "memory copy"
INJECTION = "injection"
LINK = "link "
"""Prefix of the names of link terms."""
LATENCY = "latency"
MESSAGE_COST = "message cost"


class Bound(BaseModel, frozen=True, extra="forbid"):
    """A lower bound of a time.

    Attributes
    ----------
    seconds
        The largest term.
    name
        Its name: ``memory copy``, ``injection``, ``link leaf0 up``, ``link pod0 up``, ``latency``, ``message cost``.
    terms
        All terms, in seconds, by name.
    """

    seconds: float
    name: str
    terms: dict[str, float]


class Placed(Protocol):
    """The properties of a cell that a bound needs (:class:`weft.plan.records.Cell` has them)."""

    @property
    def kernel(self) -> str:
        """Name of the kernel."""
        ...

    @property
    def nodes(self) -> int:
        """Number of nodes."""
        ...

    @property
    def ranks_per_node(self) -> int:
        """Ranks on each node."""
        ...

    @property
    def ranks(self) -> int:
        """Number of ranks."""
        ...

    @property
    def hosts(self) -> tuple[str, ...]:
        """Names of the nodes in the order of their ranks; empty if not placed."""
        ...

    @property
    def parameters(self) -> Mapping[str, Any]:
        """The kernel's own values, such as ``n`` and ``m``."""
        ...


class BoundedCell(Placed, Protocol):
    """A placed cell with the lower bounds of its plan."""

    @property
    def bounds(self) -> Mapping[str, Bound]:
        """Lower bound of each operation, by its name."""
        ...


@dataclass(frozen=True)
class PlacedCell:
    """A placed cell that is not from a plan, such as one of a table."""

    kernel: str
    nodes: int
    ranks_per_node: int
    ranks: int
    hosts: tuple[str, ...]
    parameters: Mapping[str, Any]


def largest(terms: Mapping[str, float]) -> Bound | None:
    """The bound from terms (seconds, by name): the largest of them; None if there is none."""
    if not terms:
        return None
    name = max(terms, key=lambda each: terms[each])
    return Bound(seconds=terms[name], name=name, terms=dict(terms))


def copy_term(traffic: Traffic, cell: Placed, fabric: Fabric) -> dict[str, float]:
    """Seconds of the node that copies most, c_i / R_copy; empty if the fabric states no rate."""
    rate = fabric.node.copy_rate
    return {COPY: traffic.staying(cell.nodes, cell.ranks_per_node) / rate} if rate else {}


def message_terms(traffic: Traffic, cell: Placed, fabric: Fabric) -> dict[str, float]:
    """Seconds of the successive rounds, k lambda, and of the messages a rank sends, s tau.

    Either is omitted if the fabric does not state its cost.
    """
    network = fabric.network if cell.nodes > 1 else None
    latency = network.latency if network else fabric.node.latency if cell.nodes == 1 else None
    terms: dict[str, float] = {}
    if latency:
        terms[LATENCY] = traffic.rounds * latency
    if network and network.message_cost:
        terms[MESSAGE_COST] = traffic.messages * network.message_cost
    return terms


def closed_form(terms: Mapping[str, float], cell: Placed, fabric: Fabric, block_bytes: int) -> float:
    r"""Modelled seconds of an all-to-all exchange, from its terms; not a lower bound.

    .. math:: T = \max(t_\mathrm{copy}, t_\mathrm{injection}, t_\mathrm{link}) + (p - r)\,o + k\,\lambda

    with o the cost of a message to another node for its sender: ``message_cost``, plus ``rendezvous_latency`` if the
    block is larger than the eager limit. On one node the term with o is omitted.

    Parameters
    ----------
    terms
        Terms of the exchange, in seconds (:func:`weft.bound.placed.terms_of`).
    cell, fabric
        The cell with p ranks, r per node; the fabric with the cost of a message.
    block_bytes
        Bytes that one rank sends to one other.
    """
    moving = largest({name: seconds for name, seconds in terms.items() if name not in (LATENCY, MESSAGE_COST)})
    seconds = (moving.seconds if moving else 0.0) + terms.get(LATENCY, 0.0)
    network = fabric.network
    if cell.nodes == 1 or network is None:
        return seconds
    eager = network.eager_limit is None or block_bytes <= network.eager_limit
    cost = network.message_cost + (0.0 if eager else network.rendezvous_latency or 0.0)
    return seconds + (cell.ranks - cell.ranks_per_node) * cost
