# SPDX-License-Identifier: BSD-3-Clause
"""Messages of made-up checks: fabrics of 64 to 1,024 nodes, noise of several kinds, and parts made slow."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from weft.analyse.outliers.few_parts import Leaves, Parts, cluster_nodes, follow_routes, list_parts
from weft.analyse.outliers.few_rounds import Messages, find_slow_parts
from weft.analyse.outliers.rule import CANDIDATE_SIGMAS
from weft.fabric.hops import walk
from weft.fabric.loads import both_ways, loads_of
from weft.fabric.network.build import dragonfly
from weft.fabric.network.graph import Ints, Network
from weft.fabric.network.sections import DragonflySection, TreeSection
from weft.fabric.network.tree import fat_tree
from weft.kernel.pairs.matchings import Round, draw_alone, draw_matchings

Noise = Literal["normal", "heavy", "bursts", "steal"]


@dataclass(frozen=True, eq=False)
class Machine:
    """A fabric, its nodes, and whether a check knows its topology."""

    network: Network
    known: bool

    @property
    def hosts(self) -> NDArray[np.int32]:
        return np.arange(len(self.network.hosts), dtype=np.int32)

    def rounds(self, count: int, seed: int, aim: Sequence[Ints] = (), apart: Collection[int] = ()) -> list[Round]:
        if not self.known:
            return draw_alone(len(self.hosts), count, seed, apart)
        coordinates = self.network.coordinates
        pod = coordinates.get("pod", coordinates.get("group"))
        return draw_matchings(coordinates["leaf"], pod, count, seed, self.network, self.hosts, aim, apart)


def machine(kind: str, nodes: int) -> Machine:
    """``tree``, ``pods`` (three levels), ``dragonfly`` or ``unknown`` (a tree that the check does not know)."""
    names = [f"n{i:04}" for i in range(nodes)]
    width = 16 if nodes <= 256 else 32
    if kind == "dragonfly":
        width = 4 if nodes <= 256 else 8  # so that one link joins any two groups
        shape = DragonflySection.model_construct(
            nodes_per_router=width, routers_per_group=width, global_links=4, local_rate=2e9, global_rate=2e9
        )
        return Machine(dragonfly(names, shape, rate=1e9), True)
    pods: dict[str, Any] = {"leaves_per_pod": 4, "pod_uplinks": 2 * width} if kind == "pods" else {}
    shape = TreeSection.model_construct(nodes_per_leaf=width, uplinks=width // 2, link_rate=1e9, **pods)
    return Machine(fat_tree(names, shape, rate=1e9), kind != "unknown")


@dataclass(frozen=True, eq=False)
class Made:
    """Messages of rounds, and the parts that they cross."""

    messages: Messages
    parts: Parts
    source: NDArray[np.int32]
    target: NDArray[np.int32]


def measure(
    of: Machine,
    passes: Sequence[Sequence[Round]],
    slow: dict[tuple[str, str], float],
    noise: Noise,
    sigma: float,
    seed: int,
) -> Made:
    """What a check would see of one pass of rounds, or of two.

    Parameters
    ----------
    slow
        Kind and name of each slow part to its factor; kinds as in `Part`.
    sigma
        Standard deviation of the noise on a log time.
    """
    rounds = [each for one in passes for each in one]
    source = np.concatenate([each for r in rounds for each in (r.pairs[:, 0], r.pairs[:, 1])])
    target = np.concatenate([each for r in rounds for each in (r.pairs[:, 1], r.pairs[:, 0])])
    number = np.repeat(np.arange(len(rounds)), [2 * len(r.pairs) for r in rounds])
    hosts = of.hosts
    load = np.concatenate([loads_of(both_ways(r.pairs, of.network, hosts), of.network) for r in rounds])
    routes = walk(of.network, source, target)
    excess = np.zeros(len(source))
    for (kind, name), factor in slow.items():
        own = crossed(of.network, kind, name, source, target, routes)
        excess[own] = np.maximum(excess[own], np.log(factor))
    levels = np.array([["", "leaf", "pod", "core"].index(r.level) for r in rounds])[number]
    leaf = of.network.leaf
    near = leaf[source] == leaf[target]
    farness = np.array([0.0, 0.0, 0.2, 0.4])[np.where(levels == 0, np.where(near, 1, 3), levels)]
    log_s = farness + np.log(load) + excess
    first = 0
    for place, one in enumerate(passes):
        dice = np.random.default_rng([seed, place])
        own = (number >= first) & (number < first + len(one))
        log_s[own] += dice.normal(0, 0.1, len(one))[number[own] - first]
        log_s[own] += noise_of(noise, sigma, number[own] - first, source[own], target[own], dice)
        first += len(one)
    planned = load if of.known else np.ones(len(load))
    leaves = None if of.known else _clustered(of, source, target, farness, number < len(passes[0]), seed)
    if leaves is not None:
        levels = leaves.share(source, target).astype(np.int64)
    group = np.unique(levels * 1000.0 + planned, return_inverse=True)[1]
    known = follow_routes(of.network, routes, np.arange(len(source)), routes >= 0) if of.known else ()
    parts = list_parts(of.network.hosts, source, target, known, leaves)
    second = len(passes[0]) if len(passes) > 1 else None
    return Made(Messages(number, group, log_s, second), parts, source, target)


def find_candidates(messages: Messages, parts: Parts) -> list[int]:
    """Parts that a second pass should look at: those that stand out a little, and those that explain as much."""
    found = find_slow_parts(messages, parts, CANDIDATE_SIGMAS)
    return list(dict.fromkeys(part for each in found for part in (each.part, *each.alike)))


def _clustered(
    of: Machine, source: Ints, target: Ints, farness: NDArray[np.float64], own: NDArray[np.bool_], seed: int
) -> Leaves | None:
    """The leaves that short messages of the first pass tell."""
    short = farness + np.random.default_rng([seed, 9]).normal(0, 0.03, len(farness))
    found = cluster_nodes(len(of.hosts), source[own].astype(np.int64), target[own].astype(np.int64), short[own])
    if found is None:
        return None
    return Leaves(found, tuple(f"leaf {i}" for i in range(found.max() + 1)), True)


def crossed(network: Network, kind: str, name: str, source: Ints, target: Ints, routes: Ints) -> NDArray[np.bool_]:
    """The messages that cross a part, by its name alone: nothing of what lists parts is used here."""
    if kind in ("node", "sender", "receiver"):
        node = network.hosts.index(name)
        return (kind != "receiver") & (source == node) | (kind != "sender") & (target == node)
    hosts = len(network.hosts)
    if kind == "switch":
        vertex = hosts + [switch.name for switch in network.switches].index(name)
        links = np.flatnonzero(network.links.target == vertex)
    else:
        links = _links(network, name, both=kind == "cable")
    return np.asarray(np.isin(routes, links).any(axis=1), bool)


def _links(network: Network, name: str, *, both: bool) -> NDArray[np.int64]:
    one, other = (each.partition(":") for each in name.split(" - " if both else " -> "))
    links = network.links
    names = [*network.hosts, *(switch.name for switch in network.switches)]
    there = (links.source == names.index(one[0])) & (links.target == names.index(other[0]))
    if one[2]:
        there &= links.source_port == int(one[2])
    found = np.flatnonzero(there)
    return np.concatenate([found, found ^ 1]) if both else found


def noise_of(
    kind: Noise,
    sigma: float,
    number: NDArray[np.int64],
    source: NDArray[np.int32],
    target: NDArray[np.int32],
    dice: np.random.Generator,
) -> NDArray[np.float64]:
    """Noise on the log time: normal; Student's t with 2.5 degrees; bursts that slow a tenth of the nodes by half during
    a whole round; or steal that doubles 1 % of the messages. Nodes differ by 1 % in the three last.
    """
    count = len(number)
    plain = dice.normal(0, sigma, count)
    if kind == "normal":
        return plain
    nodes = int(max(source.max(), target.max())) + 1
    own = dice.normal(0, 0.01, nodes)
    plain += own[source] + own[target]
    if kind == "heavy":
        return plain + np.abs(dice.standard_t(2.5, count)) * sigma
    if kind == "steal":
        return plain + np.where(dice.random(count) < 0.01, np.log(2.0), 0.0)
    rounds = int(number.max()) + 1
    hit = dice.random((rounds, nodes)) < 0.1
    block = dice.integers(0, nodes, rounds)
    for r in range(rounds):  # neighbours suffer together
        hit[r] &= False
        if dice.random() < 0.5:
            hit[r, (block[r] + np.arange(max(nodes // 10, 1))) % nodes] = True
    return plain + np.where(hit[number, source] | hit[number, target], np.log(1.5), 0.0)
