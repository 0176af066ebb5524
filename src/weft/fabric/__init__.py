# SPDX-License-Identifier: BSD-3-Clause
"""Where a study runs: nodes, network, placement of ranks."""

from weft.fabric.model import Fabric, load_fabric

__all__ = ["Fabric", "load_fabric"]
