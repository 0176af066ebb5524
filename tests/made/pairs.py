# SPDX-License-Identifier: BSD-3-Clause
"""Generated tables of pairs with planted faults: what a healthy cluster would give, and what is wrong with this one."""

import tomllib
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa

from weft.analyse.pairs.pair_table import MOST_ROWS
from weft.analyse.pairs.places import Places, locate
from weft.fabric.model import Fabric

FABRIC = """
name = "made-tree"
kind = "simulated"
[node]
names = "n[{first}-{last}]"
cores = {cores}
[network]
topology = "fat-tree"
adapter_rate = "10 GB/s"
[network.tree]
nodes_per_leaf = {per_leaf}
uplinks = {uplinks}
leaves_per_pod = {per_pod}
pod_uplinks = {pod_uplinks}
link_rate = "10 GB/s"
"""

SCHEMA = pa.schema(
    [
        ("launch", pa.int16()),
        ("bytes", pa.int64()),
        ("mode", pa.string()),
        ("source", pa.int32()),
        ("target", pa.int32()),
    ]
    + [("samples", pa.int32()), ("disturbed", pa.int32())]
    + [(f"{name}_s", pa.float64()) for name in ("min", "p5", "p25", "median", "p75", "p95", "p99", "max", "mean")]
    + [(f"{name}_s", pa.float64()) for name in ("low", "high", "cold", "forward", "again_1", "again_2")]
)


@dataclass(frozen=True)
class Faults:
    """What is planted. Factors are of the time one way."""

    #: (node, factor): it is slow to send, or slow to receive, from and to other nodes.
    senders: dict[int, float] = field(default_factory=dict)
    receivers: dict[int, float] = field(default_factory=dict)
    #: (link of the network, factor).
    links: dict[int, float] = field(default_factory=dict)
    #: ((source, target), factor): ranks; both directions are slow.
    pairs: dict[tuple[int, int], float] = field(default_factory=dict)
    #: rank -> factor, as sender and receiver.
    ranks: dict[int, float] = field(default_factory=dict)
    #: Factor between the two halves of the ranks of a node (two sockets); 1: none.
    sockets: float = 1.0
    #: Pairs that were slow by chance the first time and are not when measured again.
    flukes: int = 0


@dataclass(frozen=True)
class Cluster:
    """A cluster whose pairs are made up."""

    nodes: int = 64
    per_node: int = 16
    per_leaf: int = 8
    uplinks: int = 4
    per_pod: int = 4
    pod_uplinks: int = 8
    #: Relative scatter: of one pair, of a node, of a rank.
    noise: tuple[float, float, float] = (0.02, 0.005, 0.005)
    #: Seconds by which the clocks of nodes err.
    clocks: float = 2e-8

    @property
    def text(self) -> str:
        """Its fabric file."""
        return FABRIC.format(
            first="0" * len(str(self.nodes - 1)),
            last=self.nodes - 1,
            cores=self.per_node,
            per_leaf=self.per_leaf,
            uplinks=self.uplinks,
            per_pod=self.per_pod,
            pod_uplinks=self.pod_uplinks,
        )

    @cached_property
    def fabric(self) -> Fabric:
        """Its fabric, without a file."""
        return Fabric.model_validate(tomllib.loads(self.text))

    @cached_property
    def places(self) -> Places:
        """Where its ranks are: by blocks."""
        ranks = np.arange(self.nodes * self.per_node, dtype=np.int32)
        return locate(self.fabric.hosts, ranks // self.per_node, ranks % self.per_node, self.fabric)

    def link(self, source: str, target: str) -> int:
        """Index of the directed link between two named ends."""
        network = self.places.network
        names = [*network.hosts, *(switch.name for switch in network.switches)]
        ends = zip(network.links.source.tolist(), network.links.target.tolist(), strict=True)
        return next(i for i, (a, b) in enumerate(ends) if (names[a], names[b]) == (source, target))

    @cached_property
    def _crossed(self) -> list[frozenset[int]]:
        network, places = self.places.network, self.places
        return [
            frozenset(network.route(int(places.host[a]), int(places.host[b])))
            for a in range(self.nodes)
            for b in range(self.nodes)
        ]

    def base(self, size: int) -> np.ndarray:
        """Seconds one way between healthy nodes, shape (nodes, nodes)."""
        hops = np.array(self.places.hops)[self.places.classes]
        far = 1.3e-6 + 0.2e-6 * hops + size / 6e9
        return np.where(np.eye(self.nodes, dtype=bool), 0.5e-6 + size / 8e9, far)

    def one_way(self, size: int, faults: Faults, rng: np.random.Generator) -> np.ndarray:
        """Seconds from each rank to each other, shape (ranks, ranks)."""
        nodes, per = self.nodes, self.per_node
        pair, node, rank = self.noise
        between = self.base(size)
        off = ~np.eye(nodes, dtype=bool)
        own = np.exp(node * rng.standard_normal(nodes))
        between = between * own[:, None] * own[None, :]
        for slow, factor in faults.senders.items():
            between[slow, off[slow]] *= factor
        for slow, factor in faults.receivers.items():
            between[off[:, slow], slow] *= factor
        for link, factor in faults.links.items():
            crossing = np.array([link in route for route in self._crossed]).reshape(nodes, nodes)
            between = np.where(crossing, between * factor, between)
        times = np.repeat(np.repeat(between, per, axis=0), per, axis=1)
        times *= np.exp(pair * rng.standard_normal(times.shape, dtype=np.float32))
        of_rank = np.exp(rank * rng.standard_normal(nodes * per))
        for slow, factor in faults.ranks.items():
            of_rank[slow] *= factor
        times *= of_rank[:, None] * of_rank[None, :]
        place = np.arange(nodes * per)
        same = place[:, None] // per == place[None, :] // per
        apart = (place[:, None] % per < per // 2) != (place[None, :] % per < per // 2)
        times[same & apart] *= faults.sockets
        for (source, target), factor in faults.pairs.items():
            times[source, target] *= factor
            times[target, source] *= factor
        return times

    def pairs(
        self,
        faults: Faults | None = None,
        seed: int = 0,
        sizes: tuple[int, ...] = (0,),
        modes: dict[str, float] | None = None,
        launches: int = 1,
        forward: bool = True,
    ) -> pa.Table:
        """The table of pairs; ``modes`` maps a mode to how much slower it is than isolated."""
        rng = np.random.default_rng(seed)
        faults = faults or Faults()
        made = [
            self._table(launch, size, mode, slower, faults, rng, forward)
            for launch in range(1, launches + 1)
            for size in sizes
            for mode, slower in (modes or {"isolated": 1.0}).items()
        ]
        return pa.concat_tables(made)

    def many_pairs(self, faults: Faults | None = None, seed: int = 0) -> Iterator[pa.Table]:
        """The table of pairs of a whole launch, isolated at no bytes, of many ranks: in the order of a run's table.

        Each part holds some rounds of the tournament of nodes, and so all ranks as sources.
        """
        rng = np.random.default_rng(seed)
        # of nodes, and whole nanoseconds as ranks measure: 268 million times of 16,384 ranks are 5 GB and not 40
        whole = replace(self, per_node=1, noise=(0.0, self.noise[1], 0.0)).one_way(0, faults or Faults(), rng)
        whole = (whole + whole.T) / 2
        ranks, local = (np.arange(count, dtype=np.int32) for count in (self.nodes * self.per_node, self.per_node))
        step = max(1, MOST_ROWS // (len(ranks) * self.per_node))
        for first in range(0, self.nodes, step):
            rounds = np.arange(first, min(first + step, self.nodes), dtype=np.int32)
            met = np.sort((rounds - ranks[:, None] // self.per_node) % self.nodes, axis=1)
            target = (met[:, :, None] * self.per_node + local).ravel()
            source = np.repeat(ranks, len(rounds) * self.per_node)
            apart = source != target
            source, target = source[apart], target[apart]
            noise = np.exp(self.noise[0] * rng.standard_normal(len(source), dtype=np.float32))
            median = np.rint(whole[source // self.per_node, target // self.per_node] * noise * 1e9) / 1e9
            yield self._columns(source, target, median, median, np.full((2, len(source)), np.nan))

    def _table(
        self, launch: int, size: int, mode: str, slower: float, faults: Faults, rng: Any, forward: bool
    ) -> pa.Table:
        ranks = self.nodes * self.per_node
        one_way = self.one_way(size, faults, rng)
        whole = (one_way + one_way.T) / 2
        # the two directions are measured apart, so their noise is
        whole *= np.exp(0.005 * rng.standard_normal(whole.shape, dtype=np.float32))
        node = np.arange(ranks) // self.per_node
        whole = np.where(node[:, None] == node[None, :], whole, whole * slower)
        source, target = np.nonzero(~np.eye(ranks, dtype=bool))
        median = whole[source, target]
        again = np.full((2, len(median)), np.nan)
        lucky = rng.choice(len(median), faults.flukes, replace=False)
        again[:, lucky] = median[lucky]
        median[lucky] *= rng.uniform(1.8, 8.0, faults.flukes)
        for source_rank, target_rank in faults.pairs:
            for one, other in ((source_rank, target_rank), (target_rank, source_rank)):
                index = one * (ranks - 1) + other - (other > one)
                again[:, index] = median[index] * rng.uniform(0.98, 1.02, 2)
        clock = self.clocks * rng.standard_normal(self.nodes)
        ahead = clock[node[target]] - clock[node[source]]
        forward_s = one_way[source, target] + ahead if forward else np.full(len(median), np.nan)
        return self._columns(source, target, median, forward_s, again, launch, size, mode)

    def _columns(
        self, source: np.ndarray, target: np.ndarray, median: np.ndarray, forward_s: np.ndarray, again: np.ndarray,
        launch: int = 1, size: int = 0, mode: str = "isolated",
    ) -> pa.Table:  # fmt: skip
        columns: dict[str, Any] = {
            "launch": np.full(len(median), launch, np.int16), "bytes": np.full(len(median), size, np.int64),
            "mode": pa.DictionaryArray.from_arrays(np.zeros(len(median), np.int32), [mode]).cast(pa.string()),
            "source": source.astype(np.int32), "target": target.astype(np.int32),
            "samples": np.full(len(median), 30, np.int32), "disturbed": np.zeros(len(median), np.int32),
            "median_s": median, "cold_s": median * 3.0, "again_1_s": again[0], "again_2_s": again[1],
            "forward_s": forward_s,
        }  # fmt: skip
        spread = {
            "min": 0.97,
            "p5": 0.98,
            "p25": 0.99,
            "p75": 1.01,
            "p95": 1.03,
            "p99": 1.05,
            "max": 1.1,
            "mean": 1.002,
        }
        columns |= {f"{name}_s": median * factor for name, factor in (spread | {"low": 0.99, "high": 1.01}).items()}
        arrays = [
            pa.array(columns[name], from_pandas=True) if columns[name].__class__ is np.ndarray else columns[name]
            for name in SCHEMA.names
        ]
        return pa.table(dict(zip(SCHEMA.names, arrays, strict=True)), schema=SCHEMA)


APART = 8


@dataclass(frozen=True)
class Thinned(Cluster):
    """A cluster of which every eighth rank is measured: as many blocks and nodes to draw as if all of them were."""

    def pairs(self, *given: Any, **made: Any) -> pa.Table:
        few = Cluster(**asdict(self) | {"per_node": self.per_node // APART}).pairs(*given, **made)
        for name in ("source", "target"):
            spread = pa.array(few[name].to_numpy() * APART, few.schema.field(name).type)
            few = few.set_column(few.schema.get_field_index(name), few.schema.field(name), spread)
        return few
