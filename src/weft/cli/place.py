# SPDX-License-Identifier: BSD-3-Clause
"""The verb ``weft place``."""

from pathlib import Path
from typing import Annotated, Literal

from cyclopts import Parameter

from weft.cli.output import print_answer


def place(
    file: str,
    /,
    *,
    nodes: int,
    free: str | None = None,
    traffic: Path | None = None,
    beside: Annotated[tuple[str, ...], Parameter(consume_multiple=True)] = (),
    engine: str = "present",
    format: Literal["text", "json"] = "text",
) -> None:
    """Find the free nodes to request from the scheduler: the fastest and the slowest set for an all-to-all.

    Parameters
    ----------
    file
        A fabric file, or the name of a shipped one (tara, yellowstone ...).
    nodes
        Number of nodes wanted.
    free
        Nodes to choose from: "n[1-36,40]"; all by default.
    traffic
        A trace (weft trace) whose messages take the place of the all-to-all; its ranks fill the nodes in order.
    beside
        Node sets of other jobs; each is assumed to run an all-to-all at the same time.
    engine
        Routing: present (the fabric's own tables), dmodk, or an engine of OpenSM.
    format
        text, or json (schema weft-place/1).
    """
    from weft.launch.opensm import routed
    from weft.launch.preload import route_library
    from weft.route.given import given_network, hosts_of, traffic_of
    from weft.route.place import between_nodes, placement_text, placement_tree
    from weft.route.place import place as search
    from weft.route.routes import Routes

    title, network = given_network(file)
    routes = Routes(routed(network, (engine,))[0].network, route_library())
    chosen = hosts_of(network, free)
    sent = None
    if traffic is not None:
        from weft.trace.traffic import traffic_of_trace

        sent = between_nodes(traffic_of_trace(traffic), nodes)
    found = search(routes, nodes, chosen, traffic_of(routes, beside, nodes), sent)
    names = [network.hosts[int(host)] for host in routes.members(chosen)]
    tree = format == "json"
    print_answer(placement_tree(found, network, names) if tree else placement_text(found, network, title, names))
