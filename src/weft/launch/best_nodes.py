# SPDX-License-Identifier: BSD-3-Clause
"""``placement.nodes = "best"``: the nodes that carry the kernel's messages, else an all-to-all, fastest."""

import numpy as np
import numpy.typing as npt

from weft.errors import FabricError
from weft.fabric.model import Fabric
from weft.fabric.network import build_network
from weft.fabric.nodeset import fold_for_people
from weft.kernel import Shape
from weft.kernel.registry import measured_kernels
from weft.kernel.teams import rank_at
from weft.launch.preload import route_library
from weft.plan.records import shapes
from weft.route.place import Placements, between_nodes, place
from weft.route.routes import Routes
from weft.study import Study

BEST = "best"


def with_best_nodes(study: Study, fabric: Fabric, notes: list[str]) -> tuple[Study, Fabric]:
    """The study and fabric with best nodes named as groups ``best-N``, if it asks; FabricError for unknown cables."""
    if study.placement.nodes != BEST:
        return study, fabric
    network = build_network(fabric)
    if not network.cables_known:
        raise FabricError(
            f'placement.nodes = "{BEST}" needs the routes of {fabric.name}, and its cables are not known',
            "import the output of ibnetdiscover (weft fabric import DUMP -o FILE), or name the nodes",
        )
    routes = Routes(network, route_library())
    sent = measured_kernels()[study.kernel].sent(study)
    groups: dict[int, str] = {}
    for nodes in sorted(_several(study, fabric)):
        found = place(routes, nodes, sent=_between(study, sent, nodes))
        names = [network.hosts[int(host)] for host in found.best.hosts]
        groups[nodes] = ",".join(names)
        notes.append(f"best {nodes} nodes: {fold_for_people(names)}, {_worth(found)}")
    named = {nodes: f"{BEST}-{nodes}" for nodes in groups}
    placement = study.placement.model_copy(update={"nodes": named})
    more = fabric.groups | {named[nodes]: hosts for nodes, hosts in groups.items()}
    return study.model_copy(update={"placement": placement}), fabric.model_copy(update={"groups": more})


def _between(study: Study, sent: npt.NDArray[np.float64] | None, nodes: int) -> npt.NDArray[np.float64] | None:
    """Amount from each node to each other, shape (nodes, nodes); None: an all-to-all."""
    if sent is None or len(sent) % nodes:
        return None
    each, order = len(sent) // nodes, study.placement.order
    by_node = [rank_at(node, local, nodes, each, order) for node in range(nodes) for local in range(each)]
    sent = sent[np.ix_(by_node, by_node)]
    node = np.arange(len(sent)) // each
    return between_nodes(sent, nodes) if sent[node[:, None] != node].any() else None


def _several(study: Study, fabric: Fabric) -> set[int]:
    """Numbers of nodes that the fabric has and that send anything to each other."""
    every: list[Shape] = [shape for series in study.series for shape in shapes(series, fabric)]
    return {shape.nodes for shape in every if 2 <= shape.nodes <= len(fabric.hosts)}


def _worth(found: Placements) -> str:
    """What the best and the worst set of nodes carry, of what their adapters inject."""
    best, worst = 100 / found.best.all_to_all, 100 / found.worst.all_to_all
    looked = "all sets were looked at" if found.exact else f"of {found.looked_at:,} sets"
    return f"{found.traffic} at {best:.0f} % of injection by the routes; the worst at {worst:.0f} % ({looked})"
