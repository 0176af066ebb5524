# SPDX-License-Identifier: BSD-3-Clause
"""Names of cables and their directions as a person reads and types them."""

from weft.fabric.network.graph import Network


def name_link(network: Network, link: int) -> str:
    """A directed link by its two ends, ``leaf3 -> spine1``; with its port if several cables join the two."""
    links = network.links
    source, target = links.source[link], links.target[link]
    parallel = int(((links.source == source) & (links.target == target)).sum()) > 1
    port = f":{links.source_port[link]}" if parallel else ""
    return f"{network.vertex_name(int(source))}{port} -> {network.vertex_name(int(target))}"


def name_cable(network: Network, cable: int) -> str:
    """A cable by its two ends, the lower one first: ``leaf3 - spine1``."""
    return name_link(network, 2 * cable).replace(" -> ", " - ")
