# SPDX-License-Identifier: BSD-3-Clause
"""Fat trees of two or three levels, with any oversubscription and parallel uplinks.

Wiring. Uplink ``k`` of a leaf goes to spine ``k mod spines`` of its pod (a two-level tree is one pod). Uplink ``k`` of
the pod's spine ``j`` goes to core ``j * c + k mod c`` if the cores divide into ``spines`` planes of ``c`` cores, as in
director switches; else to core ``(j * u + k) mod cores`` with ``u`` uplinks per spine.

Routes. Up by destination, then down the only path (d-mod-k: Zahavi, "D-Mod-K routing providing non-blocking traffic for
shift permutations on real life fat trees", 2010): towards host ``d`` every leaf takes uplink ``d mod uplinks`` and
every spine uplink ``(d div spines) mod u``. So all traffic to one host passes one spine and one core, and goes down
over the cable of the same number, which spreads the hosts of a leaf evenly over its cables in both directions.
"""

from collections.abc import Sequence
from dataclasses import replace
from os.path import commonprefix

import numpy as np

from weft.errors import FabricError
from weft.fabric.network.graph import Cables, Ints, Longs, Network, Switch, refuse_oversize, vertex_levels
from weft.fabric.network.sections import TreeSection


def _refuse(what: str, remedy: str) -> FabricError:
    return FabricError(f"[network.tree]: {what}", remedy)


class _Sizes:
    def __init__(self, shape: TreeSection, hosts: int) -> None:
        needed = max(1, -(-hosts // shape.nodes_per_leaf))
        self.hosts, self.uplinks = hosts, shape.uplinks  # of a leaf
        self.leaves = needed if shape.leaves is None else shape.leaves
        if self.leaves < needed:
            held = f"{self.leaves * shape.nodes_per_leaf} nodes, the fabric has {hosts}"
            what = f"leaves = {self.leaves} with {shape.nodes_per_leaf} nodes each hold {held}"
            raise _refuse(what, f"set leaves to {needed} or more, or leave it out")
        self.spines = shape.uplinks if shape.spines is None else shape.spines  # in a pod
        if self.spines < 1 or shape.uplinks % self.spines:
            remedy = 'make uplinks a multiple of spines; an uneven wiring can be given as a dump (topology = "dump")'
            raise _refuse(f"uplinks = {shape.uplinks} cannot be spread evenly over spines = {self.spines}", remedy)
        # two levels: a single pod and no cores
        self.leaves_per_pod, self.pods, self.cores, self.spine_uplinks = self.leaves, 1, 0, 0
        if shape.leaves_per_pod is not None:
            self._add_cores(shape, shape.leaves_per_pod)
        elif shape.pod_uplinks is not None or shape.cores is not None:
            remedy = "give leaves_per_pod: it makes the third level"
            raise _refuse("pod_uplinks or cores without leaves_per_pod", remedy)

    def _add_cores(self, shape: TreeSection, leaves_per_pod: int) -> None:
        if (pod_uplinks := shape.pod_uplinks) is None:
            remedy = "give pod_uplinks, the links up from a pod over all its spines"
            raise _refuse("leaves_per_pod without pod_uplinks", remedy)
        if pod_uplinks % self.spines:
            what = f"pod_uplinks = {pod_uplinks} cannot be spread evenly over the {self.spines} spines of a pod"
            raise _refuse(what, "make pod_uplinks a multiple of spines")
        cores = pod_uplinks if shape.cores is None else shape.cores
        if cores < 1 or pod_uplinks % cores:
            what = f"pod_uplinks = {pod_uplinks} cannot be spread evenly over cores = {cores}"
            raise _refuse(what, "make pod_uplinks a multiple of cores")
        self.leaves_per_pod, self.pods = leaves_per_pod, -(-self.leaves // leaves_per_pod)
        self.cores, self.spine_uplinks = cores, pod_uplinks // self.spines

    def core_of(self, spine: int, uplink: int) -> int:
        """Index of the core at the end of a spine's uplink, the same in every pod."""
        if self.cores % self.spines == 0:
            plane = self.cores // self.spines
            return spine * plane + uplink % plane
        return (spine * self.spine_uplinks + uplink) % self.cores


def fat_tree(hosts: Sequence[str], shape: TreeSection, *, rate: float, latency: float = 0.0) -> Network:
    """A fat tree of two or three levels; ``rate`` and ``latency`` of each host's link. FabricError if it is none."""
    sizes = _Sizes(shape, len(hosts))
    above = sizes.pods * sizes.spines
    cabled = sizes.hosts + sizes.leaves * sizes.uplinks + above * sizes.spine_uplinks
    refuse_oversize(sizes.hosts, sizes.leaves + above + sizes.cores, cabled)
    cables = Cables()
    leaf_of = np.arange(sizes.hosts, dtype=np.int32) // shape.nodes_per_leaf
    first_leaf, first_spine = sizes.hosts, sizes.hosts + sizes.leaves
    host_up = cables.add_hosts(leaf_of, rate, latency)
    leaf_up = np.empty((sizes.leaves, sizes.uplinks), dtype=np.int32)
    for leaf, k in np.ndindex(leaf_up.shape):
        spine = first_spine + leaf // sizes.leaves_per_pod * sizes.spines + k % sizes.spines
        leaf_up[leaf, k] = cables.add(first_leaf + leaf, spine, shape.link_rate, shape.link_latency)
    spine_up = np.empty((sizes.pods, sizes.spines, sizes.spine_uplinks), dtype=np.int32)
    pod_rate = shape.link_rate if shape.pod_link_rate is None else shape.pod_link_rate
    pod_latency = shape.link_latency if shape.pod_link_latency is None else shape.pod_link_latency
    for pod, spine, k in np.ndindex(spine_up.shape):
        ends = first_spine + pod * sizes.spines + spine, first_spine + above + sizes.core_of(spine, k)
        spine_up[pod, spine, k] = cables.add(*ends, pod_rate, pod_latency)
    forward = _tables(sizes, leaf_of, host_up, leaf_up, spine_up)
    coordinates = {"leaf": leaf_of}
    if sizes.cores:
        coordinates["pod"] = leaf_of // sizes.leaves_per_pod
    pods = [f"pod{pod}-" for pod in range(sizes.pods)] if sizes.cores else [""]
    names = [f"{pod}spine{j}" for pod in pods for j in range(sizes.spines)]
    levels = ([f"leaf{i}" for i in range(sizes.leaves)], names, [f"core{c}" for c in range(sizes.cores)])
    switches = tuple(Switch(name, level) for level, named in enumerate(levels, start=1) for name in named)
    return Network("fat-tree", tuple(hosts), switches, cables.links(), forward, coordinates, "d-mod-k")


def _tables(sizes: _Sizes, leaf_of: Ints, host_up: Ints, leaf_up: Ints, spine_up: Ints) -> Ints:
    """Forwarding tables of all switches, shape (switches, hosts). A link's other direction is its index + 1."""
    host = np.arange(sizes.hosts)
    cable = host % sizes.uplinks  # the leaf's cable that a host's traffic uses, up and down
    plane = cable % sizes.spines  # the spine in a pod
    pod_of = leaf_of // sizes.leaves_per_pod
    above = sizes.pods * sizes.spines
    # Filled in place, row by row: a second copy of the tables of a large machine would not fit.
    forward = np.full((sizes.leaves + above + sizes.cores, sizes.hosts), -1, dtype=np.int32)
    leaves, spines, cores = np.split(forward, [sizes.leaves, sizes.leaves + above])
    np.take(leaf_up, cable, axis=1, out=leaves, mode="clip")
    leaves[leaf_of, host] = host_up + 1
    spines = spines.reshape(sizes.pods, sizes.spines, sizes.hosts)
    uplink = host // sizes.spines % max(1, sizes.spine_uplinks)
    for spine in range(sizes.spines):
        if sizes.cores:
            np.take(spine_up[:, spine], uplink, axis=1, out=spines[:, spine], mode="clip")
        # Every spine of the host's pod has a way down to it, also off its own plane: the leaf's cable to that spine.
        spines[pod_of, spine, host] = leaf_up[leaf_of, spine + cable - plane] + 1
    for spine, k in np.ndindex(sizes.spines, sizes.spine_uplinks):
        # Cables of the host's own number take precedence over others that lead to its pod.
        core, own = sizes.core_of(spine, k), (plane == spine) & (uplink == k)
        cores[core] = np.where(own | (cores[core] < 0), spine_up[pod_of, spine, k] + 1, cores[core])
    return forward


def sideways(network: Network) -> int | None:
    """A link whose ends are not one level apart, so that the network is no tree; None in a tree."""
    level = vertex_levels(network)
    apart = np.abs(level[network.links.source] - level[network.links.target]) != 1
    return int(apart.argmax()) if apart.any() else None


def fold_parallel(network: Network) -> Network:
    """A tree whose switches that reach the same ones below are one, with summed rates, as bridges; itself without."""
    links, hosts = network.links, len(network.hosts)
    stands = _stand_ins(network)
    kept, vertex = np.unique(stands, return_inverse=True)
    ends = np.stack([vertex[links.source], vertex[links.target]], axis=1)
    cables, first, which = np.unique(np.sort(ends[::2], axis=1), axis=0, return_index=True, return_inverse=True)
    if 2 * len(cables) == len(links):
        return network
    which = which.ravel()
    lower = (ends[::2, 0] > ends[::2, 1]).astype(np.int64)  # the direction of each old cable that begins below
    new = np.stack([2 * which + lower, 2 * which + 1 - lower], axis=1).ravel().astype(np.int32)
    rate = np.bincount(new, links.rate, 2 * len(cables))
    made = Cables()
    for (a, b), (up, down), latency in zip(cables.tolist(), rate.reshape(-1, 2), links.latency[2 * first], strict=True):
        made.add(a, b, float(up), float(latency), back_rate=float(down))
    forward = network.forward[kept[kept >= hosts] - hosts]
    names: dict[int, str] = {}  # for each vertex that stands for others: what theirs have in common
    for stand in kept.tolist():
        theirs = [network.vertex_name(int(each)) for each in np.flatnonzero(stands == stand)]
        short = commonprefix(theirs).rstrip("0123456789-_.") if len(theirs) > 1 else theirs[0]  # noqa: RUF071 - no paths
        names[stand] = short if short and short not in names.values() else theirs[0]
    switches = tuple(replace(network.switches[int(k) - hosts], name=names[int(k)]) for k in kept[kept >= hosts])
    return replace(network, switches=switches, links=made.links(), addresses=None,
                   forward=np.where(forward >= 0, new[forward], -1).astype(np.int32))  # fmt: skip


def _stand_ins(network: Network) -> Longs:
    """The vertex that stands for each vertex: its own up to the leaves, the first of its group above them."""
    level, links = vertex_levels(network), network.links
    group = list(range(len(level)))

    def root(vertex: int) -> int:
        while group[vertex] != vertex:
            vertex = group[vertex]
        return vertex

    up = np.flatnonzero(level[links.source] < level[links.target])
    first: dict[int, int] = {}  # of what is one switch below: a switch above
    for link in up[np.argsort(level[links.source[up]], kind="stable")].tolist():
        below, above = root(int(links.source[link])), root(int(links.target[link]))
        if level[below]:
            other = root(first.setdefault(below, above))
            group[max(above, other)] = min(above, other)
    return np.array([root(vertex) for vertex in range(len(level))], np.int64)
