# SPDX-License-Identifier: BSD-3-Clause
"""Networks: the graph, its generators, and the sections of a fabric file that describe them."""

from weft.fabric.network.build import build_network, make_network, star
from weft.fabric.network.dragonfly import dragonfly
from weft.fabric.network.dumped import network_of
from weft.fabric.network.follow import switch_steps, walk
from weft.fabric.network.graph import Cables, Links, Network, Switch
from weft.fabric.network.sections import DragonflySection, DumpSection, NetworkSection, TorusSection, TreeSection
from weft.fabric.network.torus import torus
from weft.fabric.network.tree import fat_tree

__all__ = [
    "Cables",
    "DragonflySection",
    "DumpSection",
    "Links",
    "Network",
    "NetworkSection",
    "Switch",
    "TorusSection",
    "TreeSection",
    "build_network",
    "dragonfly",
    "fat_tree",
    "make_network",
    "network_of",
    "star",
    "switch_steps",
    "torus",
    "walk",
]
