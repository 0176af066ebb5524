# SPDX-License-Identifier: BSD-3-Clause
"""A fabric whose node is this host: what its file leaves out is read from here."""

from weft.fabric.model import Fabric
from weft.host import Host, Limit, smallest


def complete(fabric: Fabric, host: Host) -> Fabric:
    """The fabric with what its file leaves out filled in from this host; other kinds than local stay as they are."""
    if not fabric.is_this_host:
        return fabric
    found = {"names": host.name, "cores": host.cores, "memory": host.memory_bytes or None}
    missing = {key: value for key, value in found.items() if getattr(fabric.node, key) is None}
    return fabric.model_copy(update={"node": fabric.node.model_copy(update=missing)})


def memory_limit(fabric: Fabric, host: Host) -> Limit | None:
    """Memory that one node of the fabric has for a cell; None if unknown.

    Only on kind local is this host the node: elsewhere its own limits mean nothing.
    """
    limits = list(host.limits) if fabric.is_this_host else []
    if fabric.node.memory is not None:
        limits.append(Limit(fabric.node.memory, "node.memory"))
    return smallest(limits)
