# SPDX-License-Identifier: BSD-3-Clause
r"""What would help a call whose nearest bound is of its messages, whatever their size: fewer of them, or cheaper ones.

Of r ranks on each of N nodes a rank sends r (N - 1) blocks to other nodes. If those for one node go as one message, it
sends N - 1, and each byte that leaves is copied once more.
"""

from collections.abc import Iterable, Mapping

from weft.bound.terms import COPY, LATENCY, MESSAGE_GAP, OVERHEAD
from weft.fabric import Fabric
from weft.format import format_seconds
from weft.kernel.registry import kernel_named
from weft.kernel.sizes import split_op
from weft.plan.records import Cell

Terms = Mapping[str, float]

ALLTOALLS = frozenset({"alltoall", "alltoallv"})
CHEAPER: Mapping[str, str] = {OVERHEAD: "half-overhead", MESSAGE_GAP: "half-gap", LATENCY: "half-latency"}
KEYS: Mapping[str, tuple[str, ...]] = {
    OVERHEAD: ("overhead", "stall"), MESSAGE_GAP: ("message_gap",), LATENCY: ("latency",),
}  # fmt: skip


def of_messages(
    name: str, terms: Terms, cell: Cell, call: str, fabric: Fabric | None
) -> Iterable[tuple[tuple[str, str], Terms, int]]:
    """Id and subject of remedies of a bound of messages, their terms, and by which factor at most all else shrinks.

    There is none of another bound, or on one node.

    Parameters
    ----------
    terms
        All of them, in seconds.
    """
    each, nodes = cell.ranks_per_node, cell.nodes
    if name not in CHEAPER or name not in terms or nodes == 1:
        return
    called = kernel_named(cell.kernel).collectives(cell.parameters)
    if name != LATENCY and called and called <= ALLTOALLS and each > 1:
        joined = {**terms, **{one: terms[one] / each for one in (OVERHEAD, MESSAGE_GAP) if one in terms}}
        copied = {COPY: terms[COPY] * nodes} if COPY in terms else {}
        yield ("node-messages", f"node.multi{{nl={each}}}"), {**joined, **copied}, each
    yield (CHEAPER[name], _stated(name, cell, call, fabric)), {**terms, name: terms[name] / 2}, 2


def _stated(name: str, cell: Cell, call: str, fabric: Fabric | None) -> str:
    """The keys that state the cost: ``network.overhead = 165 us``; empty for a machine, whose cost nobody stated."""
    network = fabric.network if fabric and fabric.is_model else None
    if network is None:
        return ""
    costs = network.stated_costs(split_op(call)[1] or cell.block_bytes)
    told = [f"{key} = {format_seconds(value)}" for key, value in costs.items() if key.endswith(KEYS[name])]
    return "; ".join(told)
