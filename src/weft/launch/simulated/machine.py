# SPDX-License-Identifier: BSD-3-Clause
"""The flat description of a machine that SimGrid's platform library reads (native/simulate/README.md has its lines)."""

from collections.abc import Sequence

import numpy as np

from weft.errors import FabricError
from weft.fabric.model import Fabric
from weft.fabric.network.build import build_network
from weft.fabric.network.graph import Ints, Network
from weft.fabric.simulation import CRAY_STEPS
from weft.plan.simulation_budget import simulation_of

INFINIBAND = "infiniband"


def describe_machine(fabric: Fabric, hosts: Sequence[str], ranks_per_node: int, network: Network | None = None) -> str:
    """The machine of some hosts and what lies between; FabricError if a value or a route is missing."""
    net = build_network(fabric) if network is None else network
    chosen = net.indices(list(hosts))
    used = links_between(net, chosen)
    simulation, section = simulation_of(fabric), fabric.network
    slots = 0 if simulation.model == INFINIBAND else ranks_per_node
    costs = [("all", section.cost(0)), *((size, section.cost(size + 1)) for size in section.limits)] if section else []
    lines = [
        "weft-platform 1",
        f"name {fabric.name}",
        f"ranks-per-node {slots}",
        f"node-memory {fabric.node.memory or 0}",
        f"copies {stated(fabric.node.copy_rate, fabric, 'node.copy_rate')!r} {fabric.node.latency or 0.0!r}",
        *([f"core-copies {fabric.node.core_copy_rate!r}"] if slots and fabric.node.core_copy_rate else []),
        *([f"alltoall-steps {CRAY_STEPS}"] if simulation.collectives == "cray" else []),
        *(["library-copies 1"] if simulation.library_copies else []),
        f"message {simulation.inside_cost!r}",
        *(f"segment {above} {cost.overhead_s!r} {cost.gap_s!r} {cost.s_per_byte!r}" for above, cost in costs),
        *(["gap-after-bytes 1"] if simulation.gap == "bytes" else []),
        f"connections {simulation.connection_cost!r} {simulation.connected_up_to} {simulation.start_up}",
        f"rails {section.rails if section else 1}",
        *(f"host {name}" for name in hosts),
        *graph_lines(net, chosen, used, fabric),
    ]
    return "\n".join(lines) + "\n"


def stated(value: float | None, fabric: Fabric, key: str) -> float:
    """A number that a simulation needs; FabricError if the fabric file does not state it."""
    if value is None or not np.isfinite(value):
        what = f"{fabric.path}: {key} is not stated, and a simulation needs it"
        raise FabricError(what, f"write {key}, from a data sheet or fitted with weft fabric fit")
    return float(value)


def links_between(net: Network, chosen: Ints) -> Ints:
    """Links on routes between any two hosts ``chosen``, ascending; FabricError if two cannot reach each other."""
    used, hosts = np.zeros(len(net.links), dtype=bool), len(net.hosts)
    if len(chosen) < 2:
        return np.array([], dtype=np.int32)
    first = net.uplink[chosen]
    leaves = np.unique(net.links.target[first]) - hosts
    switched = bool((first >= 0).all() and (leaves >= 0).all())
    used[first[first >= 0]] = True
    for column, end in enumerate(chosen):
        # Routes to a host make a tree: one link leaves each switch. They start at hosts' switches: 251 of 4,518 hosts.
        link = net.forward[leaves, end] if switched else net.uplink[np.delete(chosen, column)]
        for _ in range(len(net.switches) + 1):
            if (link < 0).any():
                raise no_route(net, chosen, int(end))
            link = np.unique(link)
            used[link] = True
            vertex = net.links.target[link]
            vertex = vertex[vertex != end]
            if not len(vertex):
                break
            if (vertex < hosts).any():
                raise no_route(net, chosen, int(end))
            link = net.forward[vertex - hosts, end]
        else:
            raise no_route(net, chosen, int(end), circle=True)
    return np.flatnonzero(used).astype(np.int32)


def no_route(net: Network, chosen: Ints, end: int, *, circle: bool = False) -> FabricError:
    """The error that names the first of ``chosen``, host indices (hosts,), that cannot reach ``end``."""
    for start in chosen[chosen != end]:
        try:
            net.route(int(start), end)
        except FabricError as error:
            return error
    return net.no_route(int(chosen[0]), end, circle=circle)


def graph_lines(net: Network, chosen: Ints, used: Ints, fabric: Fabric) -> list[str]:
    """Lines of switches, links and forwarding tables, for hosts (hosts,) and used links (links,), both indices."""
    hosts = len(net.hosts)
    ends = np.unique(np.concatenate([net.links.source[used], net.links.target[used]]))
    switches = ends[ends >= hosts] - hosts
    # Names of switches in a dump may repeat and contain blanks; numbers do not.
    name = {int(host): net.hosts[int(host)] for host in chosen} | {int(s) + hosts: f"switch.{s}" for s in switches}
    number = np.full(len(net.links) + 1, -1, dtype=np.int64)  # the last entry stands for "no link"
    number[used] = np.arange(len(used))
    lines = [f"switch switch.{switch}" for switch in switches]
    for link in used:
        rate = stated(float(net.links.rate[link]), fabric, "network.adapter_rate (or the rate of a link)")
        source, target = name[int(net.links.source[link])], name[int(net.links.target[link])]
        lines.append(f"link {source} {target} {rate!r} {float(net.links.latency[link])!r}")
    for switch in switches:
        row = number[net.forward[switch, chosen]]
        lines.append(f"next switch.{switch} " + " ".join("-" if link < 0 else str(link) for link in row.tolist()))
    return lines


def host_file(hosts: Sequence[str], ranks: int, ranks_per_node: int, order: str, *, shared: bool = False) -> str:
    """One line a rank: the slot it runs on, in ``block`` or ``cyclic`` order; the node itself where ranks share it."""
    places = (divmod(slot, ranks_per_node) for slot in host_slots(len(hosts), ranks, ranks_per_node, order))
    return "".join(f"{hosts[host]}\n" if shared else f"{hosts[host]}/{core}\n" for host, core in places)


def host_slots(hosts: int, ranks: int, ranks_per_node: int, order: str) -> list[int]:
    """The slot of each rank, host * ranks_per_node + core, in ``block`` or ``cyclic`` order."""
    if order == "block":
        return list(range(ranks))
    return [host * ranks_per_node + core for core in range(ranks_per_node) for host in range(hosts)][:ranks]
