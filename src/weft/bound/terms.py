# SPDX-License-Identifier: BSD-3-Clause
"""Lower bounds of a time (METHOD 16): an operation cannot be faster than its slowest part (docs/bounds.md).

Each term is seconds: bytes over a rate (memory copy, injection, links), or a number of messages times a cost of each
(latency, overhead, message gap). A term whose rate the fabric does not state is omitted. The largest term is the bound,
and its name is the limiting resource.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from pydantic import BaseModel

from weft.fabric.model import Fabric
from weft.kernel.traffic import Traffic

COPY = "memory copy"
INJECTION = "injection"
LINK = "link "  # prefix of the names of link terms
LATENCY = "latency"
OVERHEAD = "overhead"
MESSAGE_GAP = "message gap"
PER_MESSAGE = frozenset({LATENCY, OVERHEAD, MESSAGE_GAP})  # terms that grow with the messages, and not with their bytes


class Effect(BaseModel, frozen=True, extra="forbid"):
    """What a network does that the model of a fabric leaves out (:mod:`weft.bound.placed`)."""

    cause: str  # ``adaptive routing``, ``valiant routing``, ``flows through one adapter`` or ``incast``
    # less_s, more_s: by how many seconds a modelled time may be too long, and too short
    less_s: float = 0.0
    more_s: float = 0.0


class Bound(BaseModel, frozen=True, extra="forbid"):
    """A lower bound of a time."""

    seconds: float  # the largest term
    name: str  # of that term: ``memory copy``, ``injection``, ``link leaf0 up``, ``latency``, ``message gap``
    terms: dict[str, float]  # all terms, in seconds, by name
    effects: tuple[Effect, ...] = ()  # what the fabric's model leaves out

    @property
    def most_s(self) -> float:
        """The bound in seconds if all effects that the model leaves out apply to the full."""
        return self.seconds + sum(effect.less_s + effect.more_s for effect in self.effects)

    @property
    def causes(self) -> str:
        """What the model leaves out, in words; empty if nothing."""
        return " and ".join(effect.cause for effect in self.effects)


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


def largest_s(terms: Mapping[str, float]) -> float:
    """The seconds of the largest term; 0 without any."""
    found = largest(terms)
    return found.seconds if found else 0.0


def copy_rate(fabric: Fabric, cell: Placed) -> float | None:
    """Bytes a second that a node copies with r ranks: r times the rate of a core at most; None if not stated."""
    rate, core = fabric.node.copy_rate, fabric.node.core_copy_rate
    return min(rate, cell.ranks_per_node * core) if rate and core else rate


def message_terms(traffic: Traffic, cell: Placed, fabric: Fabric) -> dict[str, float]:
    """Seconds of a call's rounds (k L), a rank's messages (s o) and a node's (s_i g), if stated; none on one node."""
    network = fabric.network if cell.nodes > 1 else None
    latency = network.latency if network else fabric.node.latency if cell.nodes == 1 else None
    terms = {LATENCY: traffic.rounds * latency} if latency else {}
    if network is None:
        return terms
    of_rank = of_node = 0  # least messages to other nodes: all but r - 1, one if bytes are needed
    if traffic.messages:
        leaves = any(traffic.leaving([node], cell.nodes, cell.ranks_per_node) for node in range(cell.nodes))
        most, even = traffic.messages - (cell.ranks_per_node - 1), cell.ranks == cell.nodes * cell.ranks_per_node
        of_rank = max(0, most)
        of_node = of_rank * (cell.ranks_per_node if even and traffic.messages > 1 else 1)
        of_rank, of_node = max(of_rank, int(leaves)), max(of_node, int(leaves))
    size = traffic.message_bytes
    cost = network.least_cost if size is None else network.cost(size)
    return terms | {OVERHEAD: of_rank * cost.busy_s(size or 0), MESSAGE_GAP: of_node / network.rails * cost.gap_s}


def closed_form(terms: Mapping[str, float], cell: Placed, fabric: Fabric, block_bytes: int) -> float:
    r"""Modelled seconds of an all-to-all exchange, from its terms; not a lower bound.

    .. math::
        T = \max(t_\mathrm{copy}, t_\mathrm{injection}, t_\mathrm{link}) + b / R_\mathrm{core}
        + (p - r)\,\max(o, r g) + (r - 1)\,c + k\,L

    with b / R_core for a rank's own block, copied before it sends (where one core's rate is stated),
    LogGP's o and g of a block, and c, what a message to a rank of the same node costs its sender: while an
    adapter keeps one rank of r waiting for its gap, the others spend their overhead. On one node the term with o and
    g is omitted. `terms`: terms of the exchange, in seconds (:func:`weft.bound.placed.terms_of`). `block_bytes`:
    bytes that one rank sends to one other.
    """
    moving_s = largest_s({name: seconds for name, seconds in terms.items() if name not in PER_MESSAGE})
    seconds = moving_s + terms.get(LATENCY, 0.0)
    if fabric.simulation is not None:
        seconds += (min(cell.ranks, cell.ranks_per_node) - 1) * fabric.simulation.inside_cost
    network = fabric.network
    if cell.nodes == 1 or network is None:
        return seconds
    cost = network.cost(block_bytes)
    if fabric.node.core_copy_rate:
        seconds += block_bytes / fabric.node.core_copy_rate
    each_s = max(cost.busy_s(block_bytes), cell.ranks_per_node / network.rails * cost.gap_s)
    return seconds + (cell.ranks - cell.ranks_per_node) * each_s
