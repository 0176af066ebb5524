# SPDX-License-Identifier: BSD-3-Clause
"""A fabric whose only node is this host: keys that its file omits are read from the host."""

from weft.fabric.model import Fabric
from weft.host import Host, Limit, smallest


def complete(fabric: Fabric, host: Host) -> Fabric:
    """The fabric with the keys that its file omits filled in from this host; only kind local changes."""
    if not fabric.is_this_host:
        return fabric
    found = {"names": host.name, "cores": host.cores, "memory": host.memory_bytes or None}
    missing = {key: value for key, value in found.items() if getattr(fabric.node, key) is None}
    return fabric.model_copy(update={"node": fabric.node.model_copy(update=missing)})


def memory_limit(fabric: Fabric, host: Host) -> Limit | None:
    """Memory that a node of the fabric has for a cell; None if unknown. This host's limits count if it is the node."""
    limits = list(host.limits) if fabric.is_this_host else []
    if fabric.node.memory is not None:
        limits.append(Limit(fabric.node.memory, "node.memory"))
    return smallest(limits)
