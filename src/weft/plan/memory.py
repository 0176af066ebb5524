# SPDX-License-Identifier: BSD-3-Clause
"""How much memory a cell asks for, against what a node can give (METHOD 22)."""

from collections.abc import Mapping

from pydantic import BaseModel

from weft.format import format_bytes
from weft.host import Limit


class MemoryNeed(BaseModel, frozen=True, extra="forbid"):
    """Bytes a cell asks for, and the limit they were compared with.

    Attributes
    ----------
    rank_bytes, node_bytes, job_bytes
        What one rank, the busiest node and the whole job allocate.
    limit_bytes
        What one node can give; None where the fabric does not say.
    limited_by
        Which limit that was ("MemAvailable", "cgroup limit", "node.memory", ...).
    formula
        The terms of ``rank_bytes`` with their numbers, for the row's reason.
    """

    rank_bytes: int
    node_bytes: int
    job_bytes: int
    limit_bytes: int | None = None
    limited_by: str = ""
    formula: str = ""

    @property
    def fits(self) -> bool:
        """Whether the busiest node has room for its ranks."""
        return self.limit_bytes is None or self.node_bytes <= self.limit_bytes

    @property
    def reason(self) -> str:
        """Why the cell does not fit, in numbers; empty where it does."""
        if self.fits or self.limit_bytes is None:
            return ""
        return (
            f"needs {format_bytes(self.node_bytes)} a node ({format_bytes(self.rank_bytes)} a rank = {self.formula}), "
            f"{format_bytes(self.limit_bytes)} are there ({self.limited_by})"
        )


def memory_need(terms: Mapping[str, int], ranks_per_node: int, nodes: int, limit: Limit | None) -> MemoryNeed:
    """Add up what one rank asks for and compare a node's share with its limit.

    Parameters
    ----------
    terms
        Bytes of each part of one rank's memory, by its name.
    ranks_per_node, nodes
        Every node carries the same number of ranks.
    limit
        What one node can give; None where nothing is known.
    """
    rank_bytes = sum(terms.values())
    node_bytes = rank_bytes * ranks_per_node
    return MemoryNeed(
        rank_bytes=rank_bytes,
        node_bytes=node_bytes,
        job_bytes=node_bytes * nodes,
        limit_bytes=limit.bytes if limit else None,
        limited_by=limit.by if limit else "",
        formula=" + ".join(f"{name} {format_bytes(size)}" for name, size in terms.items() if size),
    )
