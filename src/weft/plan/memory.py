# SPDX-License-Identifier: BSD-3-Clause
"""Memory that a cell needs, compared with the memory of a node (METHOD 22)."""

from collections.abc import Mapping

from pydantic import BaseModel

from weft.format import format_bytes
from weft.host import Limit


class MemoryNeed(BaseModel, frozen=True, extra="forbid"):
    """Bytes that a cell needs, and the limit they were compared with."""

    # rank_bytes, node_bytes, job_bytes: bytes allocated by one rank, the fullest node and the whole job
    rank_bytes: int
    node_bytes: int
    job_bytes: int
    limit_bytes: int | None = None  # memory of one node; None if unknown
    limited_by: str = ""  # source of the limit ("MemAvailable", "cgroup limit", "node.memory", ...)
    formula: str = ""  # the terms of ``rank_bytes`` with their numbers, for the row's reason

    @property
    def fits(self) -> bool:
        """Whether the fullest node has enough memory for its ranks."""
        return self.limit_bytes is None or self.node_bytes <= self.limit_bytes

    @property
    def reason(self) -> str:
        """Why the cell does not fit, with numbers; empty if it fits."""
        if self.fits or self.limit_bytes is None:
            return ""
        return (
            f"needs {format_bytes(self.node_bytes)} a node ({format_bytes(self.rank_bytes)} a rank = {self.formula}), "
            f"{format_bytes(self.limit_bytes)} available ({self.limited_by})"
        )


def memory_need(terms: Mapping[str, int], ranks_per_node: int, nodes: int, limit: Limit | None) -> MemoryNeed:
    """Sum the parts of one rank's memory, and compare that of a node of ``ranks_per_node`` ranks with its limit."""
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
