# SPDX-License-Identifier: BSD-3-Clause
"""The papers' machines as shipped."""

import numpy as np
import pytest

from weft.fabric import load_fabric
from weft.fabric.checks import check_fabric
from weft.fabric.hops import hop_classes
from weft.fabric.network.build import build_network
from weft.fabric.nodeset import expand
from weft.files.shipped import shipped

SHIPPED = sorted(path.stem for path in shipped("fabrics").glob("*.toml"))


@pytest.mark.parametrize("name", SHIPPED)
def test_no_shipped_fabric_contradicts_itself_and_each_has_a_title(name: str) -> None:
    fabric = load_fabric(name)
    assert [f for f in check_fabric(fabric) if f.severity != "note"] == []
    assert fabric.title, "weft list fabrics"


@pytest.mark.parametrize("name", ["yellowstone", "jellystone", "biruni-ethernet", "biruni-infiniband"])
def test_every_number_has_a_source(name: str) -> None:
    assert not [f for f in check_fabric(load_fabric(name)) if "without a source" in f.what]


def test_yellowstone_has_the_papers_groups_and_hops() -> None:
    fabric = load_fabric("yellowstone")
    network = build_network(fabric)
    assert len(network.hosts) == 251 * 18
    assert sum(s.level == 1 for s in network.switches) == 251 + 14
    # 9 directors: as many parts as the line and spine cards fall into once the racks are taken away
    assert directors(network) == 9
    part = network.indices(list(expand(fabric.groups["pairs-64"])))
    assert len(part) == 64
    classes = hop_classes(network, (16,), part)
    assert [(c.hops, c.pairs) for c in classes] == [(0, 15_360), (2, 63_488), (4, 629_248), (6, 339_456)]


def directors(network) -> int:  # type: ignore[no-untyped-def]
    hosts = len(network.hosts)
    part = np.arange(len(network.switches))
    level = np.array([s.level for s in network.switches])
    ends = [(a - hosts, b - hosts) for a, b in zip(network.links.source, network.links.target, strict=True)]
    inner = np.array([(a, b) for a, b in ends if a >= 0 and b >= 0 and level[a] > 1 and level[b] > 1])
    while True:
        smaller = part.copy()
        np.minimum.at(smaller, inner[:, 0], part[inner[:, 1]])
        if (smaller == part).all():
            return len(np.unique(part[level > 1]))
        part = smaller


def test_the_two_biruni_clusters_differ_in_the_network_alone() -> None:
    ethernet, infiniband = load_fabric("biruni-ethernet"), load_fabric("biruni-infiniband")
    assert (len(ethernet.hosts), len(infiniband.hosts)) == (20, 8)
    assert ethernet.node.model_copy(update={"names": None}) == infiniband.node.model_copy(update={"names": None})


def test_latency_of_two_nodes_on_one_switch_is_the_files() -> None:
    network = build_network(load_fabric("tara"))
    assert network.latency("n37", "n38") == pytest.approx(1.2e-6)


@pytest.mark.parametrize("name", ["tara", "tara-extended"])
def test_taras_small_messages_cost_what_its_fitted_ones_do(name: str) -> None:
    # an assumed eager limit decided whether a larger tara still scales
    network = load_fabric(name).network
    assert network
    assert network.cost(8) == network.cost(73_728)
    assert network.cost(8).overhead_s == pytest.approx(165e-6)
