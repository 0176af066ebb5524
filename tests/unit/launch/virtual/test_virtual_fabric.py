# SPDX-License-Identifier: BSD-3-Clause
"""From a fabric file to a virtual cluster: wide trees are folded into ones without loops, and lose no capacity."""

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from weft.errors import FabricError
from weft.fabric import Fabric, load_fabric
from weft.fabric.network.build import build_network, star, torus
from weft.fabric.network.sections import TorusSection, TreeSection
from weft.fabric.network.tree import fat_tree
from weft.files.shipped import shipped
from weft.launch.virtual.spec import spec_of, spec_of_network

VIRTUAL = sorted(path.stem for path in shipped("fabrics").glob("virtual-*.toml"))


def hosts(count: int) -> list[str]:
    """Names of hosts."""
    return [f"node{k}" for k in range(count)]


def test_a_star_stays_a_star() -> None:
    spec = spec_of_network("s", star(hosts(3), rate=1e7))
    assert spec.switches == ("switch",)
    assert [(link.name, link.rate) for link in spec.links] == [(f"node{k}-switch", 1e7) for k in range(3)]


def test_parallel_uplinks_become_one_of_the_summed_rate() -> None:
    shape = TreeSection.model_construct(nodes_per_leaf=2, uplinks=3, link_rate=1e6)
    spec = spec_of_network("t", fat_tree(hosts(4), shape, rate=1e7))
    assert spec.switches == ("leaf0", "leaf1", "spine")
    assert {link.name: link.rate for link in spec.links if link.lower.startswith("leaf")} == {
        "leaf0-spine": 3e6, "leaf1-spine": 3e6,
    }  # fmt: skip


def test_a_third_level_keeps_its_pods_apart_and_its_oversubscription() -> None:
    shape = TreeSection.model_construct(
        nodes_per_leaf=2, uplinks=2, link_rate=1e6, leaves_per_pod=2, pod_uplinks=4, pod_link_rate=0.25e6
    )
    spec = spec_of_network("t", fat_tree(hosts(8), shape, rate=1e7))
    assert spec.switches == ("leaf0", "leaf1", "leaf2", "leaf3", "pod0-spine", "pod1-spine", "core")
    up = {link.lower: (link.upper, link.rate) for link in spec.links if not link.lower.startswith("node")}
    assert up == {
        "leaf0": ("pod0-spine", 2e6), "leaf1": ("pod0-spine", 2e6),
        "leaf2": ("pod1-spine", 2e6), "leaf3": ("pod1-spine", 2e6),
        "pod0-spine": ("core", 1e6), "pod1-spine": ("core", 1e6),
    }  # fmt: skip


@settings(deadline=None)
@given(
    count=st.integers(1, 24),
    nodes_per_leaf=st.integers(1, 6),
    spines=st.integers(1, 4),
    parallel=st.integers(1, 3),
    pod=st.none() | st.integers(1, 3),
)
def test_any_tree_folds_into_a_tree_whose_leaves_keep_their_uplink(
    count: int, nodes_per_leaf: int, spines: int, parallel: int, pod: int | None
) -> None:
    uplinks = spines * parallel
    shape = TreeSection.model_construct(
        nodes_per_leaf=nodes_per_leaf, uplinks=uplinks, spines=spines, link_rate=1e6,
        leaves_per_pod=pod, pod_uplinks=uplinks if pod else None,
    )  # fmt: skip
    spec = spec_of_network("t", fat_tree(hosts(count), shape, rate=1e7))  # VirtualSpec itself refuses a loop
    leaves = [link for link in spec.links if link.lower.startswith("leaf")]
    assert len(leaves) == -(-count // nodes_per_leaf)
    assert all(link.rate == pytest.approx(uplinks * 1e6) for link in leaves)


def test_a_torus_is_refused() -> None:
    with pytest.raises(FabricError, match="is no tree"):
        spec_of_network("t", torus(hosts(8), TorusSection.model_construct(dimensions=(2, 4), link_rate=1e7), rate=1e7))


ROUTED = """
name = "r"
kind = "{kind}"
[node]
names = "node[0-7]"
cores = 1
[network]
{network}
adapter_rate = "16 MB/s"
routing = "{routing}"
{section}
"""
TREE = ('topology = "fat-tree"', '[network.tree]\nnodes_per_leaf = 4\nuplinks = 4\nspines = 2\nlink_rate = "16 MB/s"')
TORUS = ('topology = "torus"', '[network.torus]\ndimensions = [2, 4]\nlink_rate = "16 MB/s"')


def routed(path: Path, routing: str, shape: tuple[str, str] = TREE, kind: str = "virtual") -> Fabric:
    """A fabric whose switches route."""
    path.write_text(ROUTED.format(kind=kind, network=shape[0], section=shape[1], routing=routing))
    return load_fabric(path)


def test_switches_that_route_are_not_merged_and_choose_among_all_shortest_ways(tmp_path: Path) -> None:
    spec = spec_of(routed(tmp_path / "r.toml", "ecmp"))
    assert spec.switches == ("leaf0", "leaf1", "spine0", "spine1")
    names = [[spec.links[way].name for way in ways] for ways in spec.ways[0]]
    up = ["leaf0:5-spine0", "leaf0:6-spine1", "leaf0:7-spine0", "leaf0:8-spine1"]
    assert names == [[f"node{k}-leaf0"] for k in range(4)] + [up] * 4
    down = [[spec.links[way].name for way in ways] for ways in spec.ways[2]]  # spine0
    assert down == [up[::2]] * 4 + [["leaf1:5-spine0", "leaf1:7-spine0"]] * 4


@pytest.mark.parametrize("shape", [TREE, TORUS])
def test_tables_are_those_of_the_network_on_any_topology(shape: tuple[str, str], tmp_path: Path) -> None:
    fabric = routed(tmp_path / "r.toml", "tables", shape)
    spec, network = spec_of(fabric), build_network(fabric)
    assert [[2 * way for (way,) in row] for row in spec.ways] == (network.forward - network.forward % 2).tolist()


def test_a_kind_without_switches_of_our_own_refuses_to_route(tmp_path: Path) -> None:
    with pytest.raises(FabricError, match='routing = "ecmp" is for kind "virtual"'):
        routed(tmp_path / "r.toml", "ecmp", kind="simulated")


def test_a_model_of_a_virtual_fabric_has_no_hash_in_it(tmp_path: Path) -> None:
    model = routed(tmp_path / "r.toml", "ecmp").as_model("m")
    assert model.network is not None
    assert (model.network.routing, model.routes_known) == ("minimal", True)


@pytest.mark.parametrize("name", VIRTUAL)
def test_a_shipped_virtual_fabric_can_be_brought_up_on_two_cores(name: str) -> None:
    from weft.launch.virtual.spec import too_fast

    spec = spec_of(load_fabric(name))
    assert spec.name == name
    assert too_fast(spec, cores=2) == ""


def test_the_pair_of_paper_004_differs_in_its_rates_alone_by_ten() -> None:
    slow, fast = (spec_of(load_fabric(f"virtual-ratio-{which}")) for which in ("slow", "fast"))
    assert (slow.hosts, slow.switches) == (fast.hosts, fast.switches)
    for narrow, wide in zip(slow.links, fast.links, strict=True):
        assert (narrow.name, narrow.lower, narrow.upper) == (wide.name, wide.lower, wide.upper)
        assert wide.rate == pytest.approx(10 * narrow.rate)


def test_the_narrow_fabrics_are_narrow_where_their_names_say() -> None:
    def pressure(name: str) -> tuple[float, float]:
        """Seconds that a byte from each host to each other one keeps a host's link, and an uplink, busy."""
        rates = {link.name: link.rate for link in spec_of(load_fabric(name)).links}
        return 3 / rates["node0-leaf0"], 4 / rates["leaf0-spine0"]

    at_host, at_uplink = pressure("virtual-narrow-uplinks")
    assert at_uplink > 4 * at_host
    at_host, at_uplink = pressure("virtual-narrow-hosts")
    assert at_host > 4 * at_uplink


def test_a_fabric_without_a_rate_says_which_key_is_missing(tmp_path: Path) -> None:
    path = tmp_path / "f.toml"
    path.write_text('name = "f"\nkind = "virtual"\n[node]\nnames = "a[1-2]"\ncores = 1\n[network]\ntopology = "star"\n')
    with pytest.raises(FabricError, match="adapter_rate"):
        spec_of(load_fabric(path))


def test_a_fabric_of_another_kind_is_refused() -> None:
    with pytest.raises(FabricError, match="tara is a fabric of kind simulated"):
        spec_of(load_fabric("tara"))
