# SPDX-License-Identifier: BSD-3-Clause
"""Placement: which nodes a cell gets, and the leaf of each."""

from weft.errors import FabricError
from weft.fabric.model import Fabric
from weft.fabric.nodeset import expand


class NoRoomError(FabricError):
    """The fabric has no place for a cell. The cell becomes a row with status ``fabric``; the study continues."""


def place(fabric: Fabric, wanted: str | dict[int, str], nodes: int) -> tuple[str, ...]:
    """Hosts of a cell, in the order of their ranks. `wanted`: ``compact``: the fabric's first nodes; a node set; or a
    table from number of nodes to a group (compact for a number not in it). NoRoomError: no such nodes, group or size.
    """
    hosts = fabric.hosts
    if len(hosts) < nodes:
        raise NoRoomError(f"{count(nodes)} asked for, fabric {fabric.name} has {len(hosts)}")
    if wanted == "compact" or (isinstance(wanted, dict) and nodes not in wanted):
        return hosts[:nodes]
    if isinstance(wanted, dict):
        group = wanted[nodes]
        if group not in fabric.groups:
            known = ", ".join(fabric.groups) or "none"
            raise NoRoomError(f"fabric {fabric.name} has no group {group!r} for {count(nodes)} (groups: {known})")
        chosen, has = expand(fabric.groups[group]), f"group {group} of fabric {fabric.name} has"
    else:
        chosen, has, there = expand(wanted), f"placement.nodes = {wanted!r} names", set(hosts)
        if foreign := [name for name in chosen if name not in there]:
            raise NoRoomError(
                f"fabric {fabric.name} has no node {foreign[0]}, which placement.nodes = {wanted!r} names"
            )
    if len(chosen) < nodes:
        raise NoRoomError(f"{count(nodes)} asked for, {has} {len(chosen)}")
    return chosen[:nodes]


def count(nodes: int) -> str:
    """A number of nodes in words: "1 node", "3 nodes"."""
    return f"{nodes} node{'s' if nodes != 1 else ''}"


def leaves(fabric: Fabric, hosts: tuple[str, ...]) -> dict[int, list[int]]:
    """Positions of a cell's hosts, by their leaf, counted from 0 in the order of ``node.names``; one leaf on a star."""
    tree = fabric.network.tree if fabric.network else None
    if tree is None:
        return {0: list(range(len(hosts)))}
    position = {name: index for index, name in enumerate(fabric.hosts)}
    found: dict[int, list[int]] = {}
    for index, host in enumerate(hosts):
        found.setdefault(position[host] // tree.nodes_per_leaf, []).append(index)
    return found
