# SPDX-License-Identifier: BSD-3-Clause
"""Where a study runs: nodes, network, placement of ranks."""

from weft.fabric.model import Fabric, Network, Node, Tree, load_fabric

__all__ = ["Fabric", "Network", "Node", "Tree", "load_fabric"]
