# SPDX-License-Identifier: BSD-3-Clause
"""Nodes that are one host, whatever the plan thought: what "crosses the network" between them stays in its memory."""

from collections.abc import Sequence
from pathlib import Path
from typing import cast

from weft.fabric.folding import fold_for_people
from weft.format import plural
from weft.plan.records import Plan
from weft.store.rows import RANK_TABLE, MeasuredRow, RankRow
from weft.store.tables import read_table

#: How a warning of a cell in one launch begins whose nodes share a host.
SHARED_HOST = "nodes share a host"


def with_shared_hosts(rows: Sequence[MeasuredRow], plan: Plan, root: Path) -> list[MeasuredRow]:
    """The cells in their launches; a warning is added where the ranks of a launch ran on fewer hosts than it has nodes.

    Raises DataError: The table of ranks is missing.
    """
    several = {launch.id: launch.nodes for launch in plan.launches if launch.nodes > 1}
    if not several:
        return list(rows)
    warnings = {name: _warning(several[name], hosts) for name, hosts in _hosts(root).items() if name in several}
    return [{**row, "warnings": [*(row["warnings"] or []), *warnings.get(row["launch_id"], [])]} for row in rows]


def _hosts(root: Path) -> dict[str, list[str]]:
    """Id of each launch to the hosts on which its ranks found themselves."""
    table = read_table(root, RANK_TABLE.name).group_by(["launch_id", "host"]).aggregate([])
    rows = cast(list[RankRow], table.to_pylist())  # of a million ranks those that differ
    found: dict[str, list[str]] = {}
    for row in rows:
        found.setdefault(row["launch_id"], []).append(row["host"])
    return found


def _warning(nodes: int, hosts: Sequence[str]) -> list[str]:
    known = sorted(host for host in hosts if host)
    if not known or len(known) >= nodes:
        return []
    return [f"{SHARED_HOST}: {nodes} nodes ran on {plural(len(known), 'host')}, {fold_for_people(known)}"]
