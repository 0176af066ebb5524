# SPDX-License-Identifier: BSD-3-Clause
"""What to change: the machine, the nodes, the ranks of a node, the algorithm; one thing at a time."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from weft.errors import StudyError
from weft.fabric.importing import as_toml
from weft.fabric.model import Fabric
from weft.fabric.network.build import build_network
from weft.format import plural
from weft.launch.preload import route_library
from weft.route.routes import Routes, placed_matrix
from weft.trace.replay import Asked


def fullest_link_s(fabric: Fabric, hosts: Sequence[str], sent: NDArray[np.floating]) -> float | None:
    """Seconds of the fullest link, max b / r, for what ranks send, (ranks, ranks); None if not known. FabricError."""
    network = build_network(fabric)
    if not network.cables_known or not hosts:
        return None
    ranks = np.repeat(network.indices(list(hosts)), len(sent) // len(hosts)).astype(np.int32)
    load = placed_matrix(Routes(network, route_library()), sent, ranks)
    used = load > 0
    rate = network.links.rate[used]
    return float((load[used] / rate).max(initial=0)) if np.isfinite(rate).all() else None


@dataclass(frozen=True)
class Variant:
    """One thing changed."""

    name: str  # a word for its folder
    words: str  # what is changed, for a reader
    fabric: Fabric
    asked: Asked  # the replay


def refuse_real(fabric: Fabric) -> None:
    """StudyError for a fabric that is not simulated: real ones cannot be changed."""
    if not fabric.is_model:
        raise StudyError(
            f"{fabric.name} is of kind {fabric.kind}: its uplinks cannot be doubled",
            "describe it (weft fabric fit, weft fabric presets), or take a simulated one: --on tara",
        )


def variants(fabric: Fabric, ranks: int, nodes: int, alltoalls: int) -> tuple[list[Variant], list[str]]:
    """A machine's variants, unchanged first, and what was left out, why; StudyError as of :func:`refuse_real`."""
    refuse_real(fabric)
    asked, each, left_out = Asked(nodes), ranks // nodes, list[str]()
    found = [Variant("unchanged", "simulated, unchanged", fabric, asked)]
    if nodes == 1:
        left_out.append("other nodes, links, adapters and tables: on one node no message uses the network")
    elif nodes < len(fabric.hosts):
        found.append(Variant("placement", "the best nodes by the routes", fabric, replace(asked, place="best")))
    else:
        left_out.append("another placement: the application takes all nodes")
    if not alltoalls:
        left_out.append("a node-aware all-to-all: the trace has none that is replayed")
    elif each > 1 and nodes > 1:
        spec = f"node.multi{{nl={each}}}"
        found.append(Variant("all-to-all", f"all-to-alls by {spec}", fabric, replace(asked, alltoall=spec)))
    else:
        left_out.append("a node-aware all-to-all: it needs several ranks on each of several nodes")
    found += _machines(fabric, asked, left_out) if nodes > 1 else []
    if each % 2:
        left_out.append(f"half the ranks on a node: {plural(each, 'rank')} on each cannot be halved")
    elif 2 * nodes > len(fabric.hosts):
        left_out.append(f"half the ranks on a node: that takes {2 * nodes} nodes of {len(fabric.hosts)}")
    else:
        found.append(Variant("spread", "half the ranks on a node", fabric, replace(asked, nodes=2 * nodes)))
    return found, left_out


def _machines(fabric: Fabric, asked: Asked, left_out: list[str]) -> list[Variant]:
    network = fabric.network
    found: list[Variant] = []
    if network and network.tree:
        tree = network.tree
        changed = {"uplinks": 2 * tree.uplinks, "spines": 2 * tree.spines if tree.spines else None}
        if tree.pod_uplinks:
            changed |= {"pod_uplinks": 2 * tree.pod_uplinks, "cores": 2 * tree.cores if tree.cores else None}
        doubled = with_network(fabric, "uplinks", tree=tree.model_copy(update=changed))
        found.append(Variant("uplinks", "twice the uplinks", doubled, asked))
    else:
        left_out.append("twice the uplinks: the network is no tree of the fabric file")
    if network and network.adapter_rate:
        faster = with_network(fabric, "adapter", adapter_rate=2 * network.adapter_rate)
        found.append(Variant("adapter", "adapters of twice the rate", faster, asked))
    else:
        left_out.append("a faster adapter: the fabric states no adapter_rate")
    return found


def with_network(fabric: Fabric, variant: str, **changes: Any) -> Fabric:
    """The machine with another network, and the text of a file that describes it, as its run keeps it."""
    section = fabric.network
    assert section is not None
    dump = changes.get("dump", section.dump)
    if dump is not None:
        beside = fabric.path.parent.resolve()
        files = {key: str(beside / name) for key in ("file", "tables", "names") if (name := getattr(dump, key))}
        changes["dump"] = dump.model_copy(update=files)
    sources = fabric.sources | {f"network.{key}": f"changed by weft whatif: {variant}" for key in changes}
    network = section.model_copy(update=changes)
    name = f"{fabric.name[:60]}-{variant}"
    changed = fabric.model_copy(update={"name": name, "network": network, "sources": sources})
    return changed.read_from(fabric.path, as_toml(changed))
