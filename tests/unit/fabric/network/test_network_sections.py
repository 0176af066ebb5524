# SPDX-License-Identifier: BSD-3-Clause
"""The [network] section of a fabric file: from text to network, for each topology."""

from pathlib import Path

import pytest

from made.networks import hops_of
from weft.errors import FabricError
from weft.fabric import Fabric, load_fabric
from weft.fabric.network.build import build_network

HEAD = """name = "f"
kind = "simulated"
[node]
names = "n[0-7]"
cores = 1
[network]
adapter_rate = "1 GB/s"
latency = "2 us"
"""


def load(tmp_path: Path, text: str) -> Fabric:
    path = tmp_path / "f.toml"
    path.write_text(HEAD + text)
    return load_fabric(path)


@pytest.mark.parametrize(
    ("text", "switches", "cables"),
    [
        ('topology = "star"\n', 1, 8),
        (
            'topology = "fat-tree"\n[network.tree]\nnodes_per_leaf = 2\nuplinks = 2\nlink_rate = "1 GB/s"\n',
            4 + 2,
            8 + 8,
        ),
        (
            'topology = "fat-tree"\n[network.tree]\nnodes_per_leaf = 2\nuplinks = 2\nlink_rate = "1 GB/s"\nspines = 1\n'
            'leaves_per_pod = 2\npod_uplinks = 2\npod_link_rate = "2 GB/s"\ncores = 1\n',
            4 + 2 + 1,
            8 + 8 + 4,
        ),
        (
            'topology = "dragonfly"\n[network.dragonfly]\nnodes_per_router = 2\n'
            "routers_per_group = 2\nglobal_links = 1\n"
            'local_rate = "1 GB/s"\nglobal_rate = "2 GB/s"\n',
            4,
            8 + 2 + 2,
        ),
        ('topology = "torus"\n[network.torus]\ndimensions = [4, 2]\nlink_rate = "1 GB/s"\n', 8, 8 + 8 + 4),
    ],
)
def test_each_topology_is_built_from_its_section(tmp_path: Path, text: str, switches: int, cables: int) -> None:
    network = build_network(load(tmp_path, text))
    assert network.hosts == tuple(f"n{i}" for i in range(8))
    assert (len(network.switches), len(network.links) // 2) == (switches, cables)
    assert network.links.rate[network.uplink].tolist() == [1e9] * 8
    assert network.latency("n0", "n1") >= 2e-6 * (1 - 1e-12)


def test_rates_of_a_third_level_are_its_own(tmp_path: Path) -> None:
    text = 'topology = "fat-tree"\n[network.tree]\nnodes_per_leaf = 2\nuplinks = 1\nlink_rate = "1 GB/s"\n'
    text += 'leaves_per_pod = 2\npod_uplinks = 1\npod_link_rate = "3 GB/s"\n'
    text += 'link_latency = "100 ns"\npod_link_latency = "1 us"\n'
    network = build_network(load(tmp_path, text))
    over_core = network.route("n0", "n7")
    assert [network.links.rate[link] for link in over_core] == [1e9, 1e9, 3e9, 3e9, 1e9, 1e9]
    assert network.latency("n0", "n7") == pytest.approx(2e-6 + 2 * 100e-9 + 2 * 1e-6)


def test_costs_of_messages_are_read_with_their_units(tmp_path: Path) -> None:
    text = 'message_gap = "100 ns"\neager_limit = "12 KiB"\nrendezvous_stall = "3 us"\nhop_count = "links"\n'
    fabric = load(tmp_path, text)
    assert fabric.network
    assert (fabric.network.message_gap, fabric.network.eager_limit) == (pytest.approx(1e-7), 12 * 1024)
    assert hops_of(build_network(fabric), "n0", "n1") == 2


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('topology = "torus"\n', r'topology "torus" needs a section \[network.torus\]'),
        (
            'topology = "star"\n[network.tree]\nnodes_per_leaf = 2\nuplinks = 2\nlink_rate = "1 GB/s"\n',
            r'topology "star" does not use the section \[network.tree\]',
        ),
        ('topology = "ring"\n', "network.topology"),
        ('topology = "torus"\n[network.torus]\ndimensions = [0]\nlink_rate = "1 GB/s"\n', "dimensions"),
        ('topology = "dump"\n[network.dump]\nfile = "none.txt"\n', "cannot read .*none.txt"),
        (
            'topology = "torus"\n[network.torus]\ndimensions = [2, 2]\nlink_rate = "1 GB/s"\n',
            "hold 4 nodes, the fabric has 8",
        ),
    ],
)
def test_a_section_that_makes_no_network_is_refused_by_name(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(FabricError, match=message):
        build_network(load(tmp_path, text))


def test_a_fabric_without_a_network_is_one_host() -> None:
    assert len(build_network(load_fabric("local")).hosts) == 1


@pytest.mark.parametrize(("old", "new"), [("message_cost", "overhead"), ("rendezvous_latency", "rendezvous_stall")])
def test_a_key_by_its_old_name_is_told_the_new_one(tmp_path: Path, old: str, new: str) -> None:
    with pytest.raises(FabricError, match=rf"network\.{old} is now called network\.{new}"):
        load(tmp_path, f'{old} = "3 us"\n')


SEGMENTS = """overhead = "1 us"
message_gap = "200 ns"
eager_limit = "16 KiB"
rendezvous_stall = "5 us"
[[network.segments]]
above = "4 KiB"
overhead = "2 us"
[[network.segments]]
above = "64 KiB"
message_gap = "1 us"
rate = "250 MB/s"
"""


def test_loggps_parameters_follow_the_size_of_a_message(tmp_path: Path) -> None:
    network = load(tmp_path, SEGMENTS).network
    assert network
    assert network.limits == (4096, 16384, 65536)
    assert network.cost(0) == network.cost(4096) == pytest.approx((1e-6, 200e-9, 0))
    assert network.cost(4097) == network.cost(16384) == pytest.approx((2e-6, 200e-9, 0))
    assert network.cost(16385) == pytest.approx((7e-6, 200e-9, 0))
    # one rank alone reaches a quarter of the adapter's 1 GB/s: three nanoseconds of each byte keep it busy
    assert network.cost(65537) == pytest.approx((6e-6, 1e-6, 3e-9))
    assert network.cost(10**6).busy_s(10**6) == pytest.approx(3.006e-3)
    assert network.least_cost == pytest.approx((1e-6, 200e-9, 0))


def test_small_messages_cost_what_others_do_unless_the_file_says_otherwise(tmp_path: Path) -> None:
    said = 'overhead = "100 us"\neager_limit = "16 KiB"\n'
    network = load(tmp_path, said).network
    assert network
    assert network.cost(8) == network.cost(10**6) == pytest.approx((100e-6, 0, 0))
    network = load(tmp_path, said + 'eager_overhead = "1 us"\n').network
    assert network
    assert (network.cost(16384).overhead_s, network.cost(16385).overhead_s) == (1e-6, 100e-6)


def test_what_a_message_costs_is_named_by_the_keys_that_state_it(tmp_path: Path) -> None:
    network = load(tmp_path, SEGMENTS).network
    assert network
    known = {"network.latency": 2e-6}
    whole = {"network.overhead": 1e-6, "network.message_gap": 200e-9}
    stall = {"network.rendezvous_stall": 5e-6}
    for size, named in (
        (4096, known | whole),
        (16384, known | {"network.segments.0.overhead": 2e-6, "network.message_gap": 200e-9}),
        (16385, known | stall | {"network.segments.0.overhead": 2e-6, "network.message_gap": 200e-9}),
        (10**6, known | stall | {"network.overhead": 1e-6, "network.segments.1.message_gap": 1e-6}
            | {"network.segments.1.rate": 3e-3}),
    ):  # fmt: skip
        assert network.stated_costs(size) == pytest.approx(named)
        busy = {name for name in named if name.endswith(("overhead", "stall", "rate"))}
        assert sum(named[name] for name in busy) == pytest.approx(network.cost(size).busy_s(size))
    limit = 'eager_limit = "16 KiB"\n'
    for size, text, also in (
        (10**6, limit, ""),
        (8, limit + 'overhead = "3 us"\neager_overhead = "1 us"\n', "network.eager_overhead"),
        (10**6, limit + 'overhead = "3 us"\neager_overhead = "1 us"\n', "network.overhead"),
    ):
        network = load(tmp_path, text).network
        assert network
        assert list(network.stated_costs(size)) == [*filter(None, [also]), "network.latency"]


def test_segments_out_of_order_are_refused(tmp_path: Path) -> None:
    turned = SEGMENTS.replace('"4 KiB"', '"64 KiB"')
    with pytest.raises(FabricError, match="order of their sizes"):
        load(tmp_path, turned)


def test_rails_are_refused_where_ranks_cannot_have_their_own(tmp_path: Path) -> None:
    with pytest.raises(FabricError, match="one link a node"):
        load_fabric(virtual(tmp_path))
    with pytest.raises(FabricError, match="cannot distinguish the ranks"):
        load(tmp_path, 'rails = 2\n[simulation]\nmodel = "infiniband"\n')
    fabric = load(tmp_path, "rails = 4\n")
    assert fabric.network
    assert fabric.network.node_rate == 4e9
    assert build_network(fabric).links.rate[0] == 4e9


def virtual(tmp_path: Path) -> Path:
    path = tmp_path / "v.toml"
    path.write_text(HEAD.replace("simulated", "virtual") + "rails = 2\n")
    return path
