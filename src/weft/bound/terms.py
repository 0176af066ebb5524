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
    most loaded cable counts where it is worse than every cut (:mod:`weft.bound.links`).
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
from weft.kernel.traffic import Traffic

COPY = "memory copy"
INJECTION = "injection"
LINK = "link "
"""Begins the name of each term of a link."""
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
        All of them, in seconds.
    """

    seconds: float
    name: str
    terms: dict[str, float]


class Placed(Protocol):
    """What a bound needs to know of a cell (:class:`weft.plan.records.Cell` has it)."""

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
    """A cell with the lower bounds from its plan."""

    @property
    def bounds(self) -> Mapping[str, Bound]:
        """Lower bound of each operation, by its name."""
        ...


@dataclass(frozen=True)
class PlacedCell:
    """Just that, of a cell that no plan has: one of a table."""

    kernel: str
    nodes: int
    ranks_per_node: int
    ranks: int
    hosts: tuple[str, ...]
    parameters: Mapping[str, Any]


def largest(terms: Mapping[str, float]) -> Bound | None:
    """The bound that some terms (seconds, by name) make: the largest of them; None where there is none."""
    if not terms:
        return None
    name = max(terms, key=lambda each: terms[each])
    return Bound(seconds=terms[name], name=name, terms=dict(terms))


def copy_term(traffic: Traffic, cell: Placed, fabric: Fabric) -> dict[str, float]:
    """Seconds in which the node that copies most does so, c_i / R_copy; nothing where the fabric gives no rate."""
    rate = fabric.node.copy_rate
    return {COPY: traffic.staying(cell.nodes, cell.ranks_per_node) / rate} if rate else {}


def message_terms(traffic: Traffic, cell: Placed, fabric: Fabric) -> dict[str, float]:
    """Seconds of the rounds that follow one another, k lambda, and of the messages a rank sends, s tau.

    Either is left out where the fabric does not give its cost.
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
    r"""Seconds that an all-to-all exchange takes by its terms: a model of its time, and no lower bound.

    .. math:: T = \max(t_\mathrm{copy}, t_\mathrm{injection}, t_\mathrm{link}) + (p - r)\,o + k\,\lambda

    with o what a message to another node costs its sender: ``message_cost``, and ``rendezvous_latency`` on top where
    the block is larger than the eager limit. On one node o is left out.

    Parameters
    ----------
    terms
        Of the exchange, in seconds (:func:`weft.bound.placed.terms_of`).
    cell, fabric
        p ranks, r a node; what a message costs.
    block_bytes
        What one rank sends to one other.
    """
    moving = largest({name: seconds for name, seconds in terms.items() if name not in (LATENCY, MESSAGE_COST)})
    seconds = (moving.seconds if moving else 0.0) + terms.get(LATENCY, 0.0)
    network = fabric.network
    if cell.nodes == 1 or network is None:
        return seconds
    eager = network.eager_limit is None or block_bytes <= network.eager_limit
    cost = network.message_cost + (0.0 if eager else network.rendezvous_latency or 0.0)
    return seconds + (cell.ranks - cell.ranks_per_node) * cost
