# SPDX-License-Identifier: BSD-3-Clause
"""The placement of a run's ranks: their nodes, the hop class of every two nodes, and the routes between them."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from weft.errors import DataError, FabricError
from weft.fabric.hops import LEAF, LEVELS, NODE, POD, host_hops, host_levels
from weft.fabric.model import Fabric
from weft.fabric.network.build import build_followed, star
from weft.fabric.network.graph import Ints, Network
from weft.plan.records import Plan
from weft.store.rows import RankRow
from weft.store.tables import Table, grouped

#: Names of levels that are printed beside the hops of a class.
WORDS = {NODE: "same node", LEAF: "same leaf", POD: "same pod"}


@dataclass(frozen=True, eq=False)
class Places:
    """The nodes and hosts of the ranks of one placement."""

    nodes: tuple[str, ...]  # name of each node, shape (nodes,), indexed by the node numbers of ``ranks.parquet``
    node_of: Ints  # node number of each rank, shape (ranks,)
    local_of: Ints  # ... and its index among the ranks of that node
    network: Network
    host: Ints  # index of each node in the network; all -1 if the fabric does not list the nodes
    unknown: str = ""  # why routes are unknown; empty if they are known

    @property
    def ranks(self) -> int:
        """Number of ranks."""
        return len(self.node_of)

    @property
    def routed(self) -> bool:
        """Whether routes between the nodes are known, so that a link can be named."""
        return bool((self.host >= 0).all()) and self.network.cables_known and len(self.network.switches) > 0

    @cached_property
    def _classed(self) -> tuple[NDArray[np.int16], tuple[tuple[int, int], ...]]:
        same = np.eye(len(self.nodes), dtype=bool)
        if (self.host >= 0).all():
            level, hops = host_levels(self.network, self.host), host_hops(self.network, self.host)
        else:  # nodes not in the fabric: one class without hops
            level, hops = np.where(same, NODE, len(LEVELS) - 1), np.where(same, 0, -1)
        both = (hops.astype(np.int32) * len(LEVELS) + level).ravel()  # unique rows of a million would take seconds
        keys, index = np.unique(both, return_inverse=True)
        return index.reshape(same.shape).astype(np.int16), tuple(divmod(key, len(LEVELS)) for key in keys.tolist())

    @property
    def classes(self) -> NDArray[np.int16]:
        """Class of every two nodes as an index into `labels`, shape (nodes, nodes); the diagonal is the node itself."""
        return self._classed[0]

    @property
    def hops(self) -> tuple[int, ...]:
        """Hops of each class as the network counts them; -1 if unknown."""
        return tuple(hops for hops, _ in self._classed[1])

    @property
    def labels(self) -> tuple[str, ...]:
        """Each class in words: ``0 hops, same node``, ``4 hops``."""
        return tuple(
            f"{hops} hop{'' if hops == 1 else 's'}" + (f", {WORDS[level]}" if level in WORDS else "")
            if hops >= 0
            else "other nodes"
            for hops, level in self._classed[1]
        )

    @cached_property
    def order(self) -> NDArray[np.int64]:
        """Rank indices (ranks,) sorted by node, as in figures: cyclic placement would scatter a node's ranks."""
        return np.lexsort((self.local_of, self.node_of))

    def rank_table(self) -> Table:
        """A row of indices for each rank: rank, node."""
        return pa.table({"rank": np.arange(self.ranks, dtype=np.int32), "node": self.node_of})

    def class_table(self) -> Table:
        """A row for every two nodes, all columns indices: source_node, target_node, class."""
        count = len(self.nodes)
        source, target = np.divmod(np.arange(count * count, dtype=np.int32), np.int32(max(count, 1)))
        return pa.table({"source_node": source, "target_node": target, "class_": self.classes.ravel()})


def locate_ranks(ranks: Sequence[RankRow], plan: Plan) -> Places:
    """Places of a run's ranks; DataError if no rank was recorded, or two launches put one rank on different nodes."""
    known: dict[int, tuple[int, int]] = {}
    names: dict[int, str] = {}
    for row in ranks:
        place = (row["node"], row["local_rank"])
        if known.setdefault(row["rank"], place) != place:
            raise DataError(
                f"rank {row['rank']} sat at {known[row['rank']]} in one launch and at {place} in another (node, place)",
                "measure each placement in a run of its own: one series with one number of nodes",
            )
        names.setdefault(row["node"], row["host"])
    if not known:
        what = "no launch of this run recorded the nodes of its ranks"
        raise DataError(what, "bring launches/*.json back; if they are lost, measure anew with --into DIR")
    nodes = max(names) + 1
    node_of, local_of = np.array([known.get(rank, (0, 0)) for rank in range(max(known) + 1)], np.int32).T.copy()
    planned = next((cell.hosts for cell in plan.cells if len(cell.hosts) == nodes), ())
    hosts = [names.get(node, f"node {node}") for node in range(nodes)]
    return locate(hosts, node_of, local_of, plan.planned_fabric, planned)


def locate(hosts: Sequence[str], node_of: Ints, local_of: Ints, fabric: Fabric, planned: Sequence[str] = ()) -> Places:
    """Places of ranks on named hosts of a fabric; arrays of indices have the shape (ranks,)."""
    why = f"fabric {fabric.name} does not know the hosts {', '.join(hosts[:3])}"
    try:
        network = build_followed(fabric)
        for names in (hosts, [name.partition(".")[0] for name in hosts], planned):
            if len(set(names)) == len(hosts) and all(name in network.index for name in names):
                return Places(tuple(names), node_of, local_of, network, network.indices(list(names)))
        if len(hosts) == 1:  # a local run: the fabric calls this host by another name
            return Places(tuple(hosts), node_of, local_of, star(hosts, rate=float("nan")), np.zeros(1, np.int32))
    except FabricError as problem:  # e.g. its dump was deleted: hops and links are unknown, times are still valid
        why = problem.what
    # only the node of each rank is known
    apart = len(set(hosts)) == len(hosts)
    names = tuple(hosts) if apart else tuple(f"{host}#{index}" for index, host in enumerate(hosts))
    return Places(names, node_of, local_of, star(names, rate=float("nan")), np.full(len(hosts), -1, np.int32), why)


def list_placements(ranks: Sequence[RankRow], measured: Iterable[str], plan: Plan) -> list[tuple[list[str], Places]]:
    """Launches grouped by placement (the same ranks on the same nodes), with their places; the largest first."""
    wanted = set(measured)
    by_launch = grouped((row for row in ranks if row["launch_id"] in wanted), lambda row: row["launch_id"])
    where = {
        launch: tuple(sorted((row["rank"], row["node"], row["host"]) for row in own))
        for launch, own in by_launch.items()
    }
    alike = grouped(sorted(by_launch), where.__getitem__)
    found = [(launches, locate_ranks(by_launch[launches[0]], plan)) for launches in alike.values()]
    return sorted(found, key=lambda each: (-len(each[1].nodes), -each[1].ranks))
