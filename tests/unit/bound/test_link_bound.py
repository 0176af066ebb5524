# SPDX-License-Identifier: BSD-3-Clause
"""The link term of a bound on every kind of network: against hand-made numbers, and never above what routes carry."""

import shutil
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings

from made.networks import networks
from weft.analyse.floor import Bounds, Floor
from weft.bound.links import injection_term, link_term
from weft.bound.placed import bounds, main_of, terms_of
from weft.bound.terms import Bound
from weft.fabric import Fabric, load_fabric
from weft.fabric.kinds import burst
from weft.fabric.loads import all_to_all_loads, depths, link_name
from weft.fabric.network.build import build_network
from weft.fabric.network.graph import Network
from weft.fabric.summary import cuts
from weft.kernel.traffic import Mirror, Uniform

DATA = Path(__file__).resolve().parents[2] / "data" / "networks"
MB = 1_000_000


@dataclass(frozen=True)
class Placed:
    nodes: int
    ranks_per_node: int
    hosts: tuple[str, ...]
    parameters: dict[str, Any] = field(default_factory=dict)
    kernel: str = "exchange"

    @property
    def ranks(self) -> int:
        return self.nodes * self.ranks_per_node


def fabric(nodes: int, kind: str = "slurm", **network: Any) -> Fabric:
    node = {"names": f"n[1-{nodes}]", "cores": 64, "copy_rate": "80 GB/s"}
    return Fabric.model_validate(
        {"name": "f", "kind": kind, "node": node, "network": {"adapter_rate": "10 GB/s", **network}}
    )


def dragonfly(kind: str = "slurm", global_rate: str = "1 GB/s") -> Fabric:
    """Two groups of two routers of two nodes, joined by two global links in all."""
    shape = {"nodes_per_router": 2, "routers_per_group": 2, "global_links": 1, "local_rate": "8 GB/s"}
    return fabric(8, kind, topology="dragonfly", dragonfly={**shape, "global_rate": global_rate})


def everybody(where: Fabric, ranks_per_node: int = 1) -> Placed:
    return Placed(len(where.hosts), ranks_per_node, where.hosts)


def test_the_way_out_of_a_dragonflys_group_bounds_an_all_to_all() -> None:
    where = dragonfly()
    network = build_network(where)
    out = sum(
        rate
        for source, target, rate in zip(network.links.source, network.links.target, network.links.rate, strict=True)
        if network.vertex_name(int(source)).startswith("group0")
        and network.vertex_name(int(target)).startswith("group1")
    )
    found = link_term(Uniform(MB, 1, 7), everybody(where), where)
    assert found == {"link group0 out": pytest.approx(4 * 4 * MB / out)}


def test_half_of_a_torus_has_its_ring_to_get_out() -> None:
    where = fabric(8, topology="torus", torus={"dimensions": [8], "link_rate": "1 GB/s"})
    ((name, seconds),) = link_term(Uniform(MB, 1, 7), everybody(where), where).items()
    assert name == "link x 0-3 out"
    assert seconds == pytest.approx(4 * 4 * MB / 2e9)  # two cables leave a half of a ring


def test_a_simulation_that_knows_its_routes_names_the_hottest_cable() -> None:
    # the one cable between the two routers of a group carries what their own hosts exchange and, for half of the other
    # group, what has to go on by the other router's global link: no cut is as tight
    shape = {"nodes_per_router": 2, "routers_per_group": 2, "global_links": 1}
    section = {
        "topology": "dragonfly", "dragonfly": {**shape, "local_rate": "1 GB/s", "global_rate": "8 GB/s"},
    }  # fmt: skip
    simulated = fabric(8, "simulated", **section)
    network = build_network(simulated)
    seconds = np.where(network.switch_links, all_to_all_loads(network) * MB / network.links.rate, 0)
    ((name, found),) = link_term(Uniform(MB, 1, 7), everybody(simulated), simulated).items()
    assert found == pytest.approx(seconds.max())
    assert name == f"link {network.link_name(int(seconds.argmax()))}"
    real = link_term(Uniform(MB, 1, 7), everybody(simulated), fabric(8, **section))
    assert found > 1.1 * max(real.values())


def test_single_links_of_another_rate_are_heeded() -> None:
    tree = {"topology": "fat-tree", "tree": {"nodes_per_leaf": 2, "uplinks": 1, "link_rate": "1 GB/s"}}
    even, slow_leaf, slow_host = (
        fabric(4, **tree, rates=rates) for rates in ({}, {"leaf1 - spine0": "10 MB/s"}, {"n3 - leaf1": "1 MB/s"})
    )
    traffic, cell = Uniform(MB, 1, 3), everybody(even)
    assert link_term(traffic, cell, even) == {"link leaf0 up": pytest.approx(4 * MB / 1e9)}
    assert link_term(traffic, cell, slow_leaf) == {"link leaf1 up": pytest.approx(4 * MB / 10e6)}
    assert injection_term(traffic, cell, even) == {"injection": pytest.approx(3 * MB / 10e9)}
    assert injection_term(traffic, cell, slow_host) == {"injection": pytest.approx(3 * MB / 1e6)}


def test_traffic_that_is_not_uniform_is_put_on_the_routes_pair_by_pair() -> None:
    section = {"topology": "torus", "torus": {"dimensions": [6], "link_rate": "1 GB/s"}}
    simulated = fabric(6, "simulated", **section)
    ((name, seconds),) = link_term(Mirror(6 * MB, 1, 1), everybody(simulated), simulated).items()
    # n1-n6 and n3-n4 are neighbours; n2 and n5 are three apart, and all cross n3-n4 or n1-n6 besides their own
    network = build_network(simulated)
    loads = np.zeros(len(network.links))
    for a in range(6):
        for link in network.route(a, 5 - a):
            loads[link] += 6 * MB
    assert seconds == pytest.approx(float(loads[network.switch_links].max()) / 1e9)
    assert name.startswith("link switch-")


def test_an_imported_dump_has_a_link_term_too(tmp_path: Path) -> None:
    shutil.copy(DATA / "small.ibnetdiscover", tmp_path)
    network = {"adapter_rate": "4 GB/s", "topology": "dump", "dump": {"file": "small.ibnetdiscover"}}
    (tmp_path / "f.toml").write_text(as_toml(tmp_path, network))
    where = load_fabric(tmp_path / "f.toml")
    cell = Placed(len(where.hosts), 2, where.hosts)
    ((name, seconds),) = link_term(Uniform(MB, 1, 9), cell, where).items()
    chosen = max(cuts(build_network(where)), key=lambda cut: len(cut.hosts) * (cell.nodes - len(cut.hosts)) / cut.rate)
    assert name == chosen.name
    inside = 2 * len(chosen.hosts)
    assert seconds == pytest.approx(inside * (cell.ranks - inside) * MB / chosen.rate)


def as_toml(folder: Path, network: dict[str, Any]) -> str:
    from weft.fabric.network import sections
    from weft.fabric.network.build import make_network

    section = sections.NetworkSection.model_validate(network)
    hosts = ",".join(make_network(section, (), folder).hosts)
    return (
        f'name = "f"\nkind = "slurm"\n[node]\nnames = "{hosts}"\ncores = 4\n[network]\ntopology = "dump"\n'
        f'adapter_rate = "4 GB/s"\n[network.dump]\nfile = "small.ibnetdiscover"\n'
    )


@settings(max_examples=80, deadline=None)
@given(networks())
def test_no_cut_asks_for_more_than_the_routes_carry(network: Network) -> None:
    loads = all_to_all_loads(network)
    seconds = np.where(network.switch_links, loads / network.links.rate, 0.0)
    count = len(network.hosts)
    for cut in cuts(network):
        across = len(cut.hosts) * (count - len(cut.hosts))
        assert across / cut.rate <= float(seconds.max()) * (1 + 1e-9), cut.name


def test_a_measured_latency_does_not_change_what_a_link_carries() -> None:
    where = dragonfly()
    assert where.network
    slow = where.model_copy(update={"network": where.network.model_copy(update={"latency": 1.0})})
    cell = everybody(where)
    assert link_term(Uniform(MB, 1, 7), cell, slow) == link_term(Uniform(MB, 1, 7), cell, where)


def test_an_analysis_takes_the_links_term_from_the_plan_and_needs_no_dump() -> None:
    gone = fabric(4, topology="dump", dump={"file": "not-here.ibnetdiscover"})
    cell = SimpleNamespace(
        kernel="exchange", nodes=4, ranks_per_node=2, ranks=8, hosts=gone.hosts,
        parameters={"n": 64 * 1000, "m": 125, "data": "contention", "calls": ["C"]},
        bounds={"C": Bound(seconds=5.0, name="link s1 up", terms={"link s1 up": 5.0, "injection": 1.0})},
    )  # fmt: skip
    row = {"nodes": 4, "ranks_per_node": 2, "quantity": "latency", "bytes": 0, "value": 2e-6, "best": 1e-6}
    bounds = Bounds(gone, Floor([row]))
    assert bounds(cell, "C") == (5.0, "link s1 up", "stated")
    # a plan that knows nothing of the call: the network cannot be built, and the bound does without it
    cell.bounds = {}
    assert bounds(cell, "C") == (pytest.approx(5e-5), "memory copy", "stated")


def test_one_leaf_needs_no_link_between_switches() -> None:
    where = dragonfly()
    cell = Placed(2, 2, where.hosts[:2])
    assert link_term(Uniform(MB, 1, 3), cell, where) == {}
    assert link_term(Uniform(MB, 1, 3), Placed(1, 4, where.hosts[:1]), where) == {}


def test_the_narrow_place_of_a_dragonfly_follows_its_rates() -> None:
    narrow, wide = dragonfly(global_rate="10 MB/s"), dragonfly(global_rate="100 GB/s")
    values = {"n": 64 * 1000, "m": 125, "data": "contention", "calls": ["C"]}
    for where, name in ((narrow, "link group0 out"), (wide, "injection")):
        cell = Placed(8, 1, where.hosts, values)
        found = main_of(cell.kernel, bounds(cell, where))
        assert found
        assert found.name == name
    assert "injection" in terms_of(Uniform(MB, 1, 7), everybody(narrow), narrow)


def test_counters_and_bounds_call_a_link_by_the_same_name() -> None:
    assert link_name("leaf0", "up") == "link leaf0 up"
    assert link_name("pod1-spine", "up") == link_name("pod1-spine3", "up") == "link pod1 up"
    assert link_name("node3", "down") == "link node3 down"
    ends = [("node0", "leaf0"), ("spine", "leaf0"), ("leaf1", "spine"), ("node1", "leaf1")]
    assert depths(["node0", "node1"], ends) == {"node0": 0, "node1": 0, "leaf0": 1, "leaf1": 1, "spine": 2}


def test_what_a_bucket_lets_pass_at_once_is_not_waited_for() -> None:
    network = {"topology": "fat-tree", "tree": {"nodes_per_leaf": 1, "uplinks": 1, "link_rate": "1 MB/s"}}
    real, virtual = (fabric(2, kind, **network) for kind in ("slurm", "virtual"))
    cell = Placed(2, 1, real.hosts)
    assert link_term(Uniform(MB, 1, 1), cell, real) == {"link leaf0 up": pytest.approx(1.0)}
    assert link_term(Uniform(MB, 1, 1), cell, virtual) == {"link leaf0 up": pytest.approx(1.0 - 18028 / 1e6)}
    assert terms_of(Uniform(10_000, 1, 1), cell, virtual).keys() == {"memory copy"}


def test_tables_in_virtual_switches_bound_the_cable_that_they_fill_and_a_hash_does_not() -> None:
    """Uplink 0 of leaf0 carries what n1 and n2 send to n5 and n9: four blocks, where three leave each node."""
    tree = {"nodes_per_leaf": 4, "uplinks": 4, "link_rate": "16 MB/s"}
    found: dict[str, dict[str, float]] = {}
    for routing in ("tables", "ecmp"):
        where = fabric(12, "virtual", topology="fat-tree", tree=tree, adapter_rate="16 MB/s", routing=routing)
        found[routing] = link_term(Uniform(MB, 1, 1), Placed(4, 1, ("n1", "n2", "n5", "n9")), where)
    assert found["tables"] == {"link leaf0:5->spine0:1": pytest.approx((4 * MB - burst(16 * MB)) / (16 * MB))}
    (slowest,) = found["ecmp"].values()  # all cables of a leaf together
    assert slowest < found["tables"]["link leaf0:5->spine0:1"] / 3
