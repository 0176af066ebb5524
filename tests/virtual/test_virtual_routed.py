# SPDX-License-Identifier: BSD-3-Clause
"""Switches that route: a hash over equal ways, and forwarding tables of a real fabric with traffic on them."""

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from clusters import Installed, asked, crossed, send

from weft.fabric import load_fabric
from weft.fabric.network.build import build_network
from weft.launch.preload import route_library
from weft.launch.virtual.cluster import Cluster
from weft.launch.virtual.counters import counters_now, read_counters
from weft.launch.virtual.launcher import launched
from weft.launch.virtual.spec import VirtualSpec, spec_of
from weft.launch.virtual.wiring import address
from weft.route.routes import Routes, placed_matrix

pytestmark = pytest.mark.virtual
DATA = Path(__file__).parents[1] / "data" / "networks"
FABRIC = """
name = "routed"
kind = "virtual"
[node]
names = "node[0-{last}]"
cores = 1
[network]
adapter_rate = "{rate}"
routing = "{routing}"
{network}
"""
PODS = """
topology = "fat-tree"
hash_seed = {seed}
[network.tree]
nodes_per_leaf = 1
uplinks = 4
spines = 2
link_rate = "40 MB/s"
leaves_per_pod = 1
pod_uplinks = 4
"""
DUMP = """
topology = "dump"
[network.dump]
file = "{folder}/small-subnet.lst"
tables = "{tables}"
names = "{names}"
link_rate = "{rate}"
"""
FROM_PORT = """
import socket, sys
for port in map(int, sys.argv[3:]):
    sender = socket.socket()
    sender.bind(("", port))
    sender.connect((sys.argv[1], 7))
    sender.sendall(bytes(int(sys.argv[2])))
    sender.shutdown(socket.SHUT_WR)
    sender.recv(1)  # the other side has taken all of it
"""
SINK = """
import socket
listening = socket.create_server(("", 7), backlog=64)
print("up", flush=True)
while True:
    connection, _ = listening.accept()
    while connection.recv(1 << 20):
        pass
    connection.close()
"""
FLOWS = range(40000, 40016)
EACH = 200_000


def fabric_spec(folder: Path, network: str, last: int, routing: str, rate: str = "40 MB/s") -> VirtualSpec:
    """The cluster of a fabric file with these lines in it."""
    path = folder / "routed.toml"
    path.write_text(FABRIC.format(network=network, last=last, routing=routing, rate=rate))
    return spec_of(load_fabric(path))


def pods(folder: Path, seed: int) -> VirtualSpec:
    """Two pods of one leaf with one host: two spines, two cables to each, four cores: three choices on a way."""
    return fabric_spec(folder, PODS.format(seed=seed), 1, "ecmp")


@pytest.fixture(scope="module")
def three_levels(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    with Cluster.start(pods(tmp_path_factory.mktemp("pods"), 7)) as up:
        yield up


def way_of(up: Cluster, source: str, target: str, port: int, to_port: int = 7) -> list[str]:
    """The cables that a connection crosses, as each switch itself says where it would send such a packet."""
    spec, flow = up.spec, f"from {address(up.spec, source)} ipproto tcp sport {port} dport {to_port}"
    at = next(link for link in spec.links if link.lower == source)
    crossed, switch = [at.name], source
    while target not in (at.lower, at.upper):
        switch = at.upper if at.lower == switch else at.lower
        side = "b" if at.upper == switch else "a"
        came = f"l{spec.links.index(at)}{side}"
        words = f"ip route get {address(spec, target)} iif {came} {flow}"
        said = up.run(switch, words.split()).stdout.split()
        at = spec.links[int(said[said.index("dev") + 1][1:-1])]
        crossed.append(at.name)
    return crossed


def sent_from(up: Cluster, ports: list[int]) -> dict[str, int]:
    """Bytes over each cable from node0 to node1 when each port sends as many."""
    sink = subprocess.Popen(up.command("node1", [sys.executable, "-c", SINK]), stdout=subprocess.PIPE, text=True)
    assert sink.stdout is not None
    assert sink.stdout.readline() == "up\n"
    before = read_counters(up)
    words = [sys.executable, "-c", FROM_PORT, "node1", str(EACH), *map(str, ports)]
    assert up.run("node0", words).returncode == 0
    after = crossed(before, up)
    up.sweep()
    sink.wait()
    found: dict[str, int] = {}
    for (link, _), size in after.items():  # one direction has the data, the other one acknowledgements
        found[link] = max(found.get(link, 0), size)
    return found


def test_each_connection_takes_the_cables_that_the_switches_name_for_its_ports(three_levels: Cluster) -> None:
    ways = {port: way_of(three_levels, "node0", "node1", port) for port in FLOWS}
    assert all(len(way) == 6 for way in ways.values())  # host, leaf, spine, core, spine, leaf
    expected = {link.name: sum(link.name in way for way in ways.values()) for link in three_levels.spec.links}
    counted = sent_from(three_levels, list(FLOWS))
    assert {name: round(size / (EACH * 1.008)) for name, size in counted.items()} == expected
    uplinks = [expected[link.name] for link in three_levels.spec.links if link.lower == "leaf0"]
    assert sum(uplinks) == len(FLOWS)
    assert sorted(uplinks) != [4, 4, 4, 4]  # a hash is no round robin


def test_a_seed_repeats_the_ways_and_another_one_changes_them(three_levels: Cluster, tmp_path: Path) -> None:
    def ways(up: Cluster) -> list[list[str]]:
        return [way_of(up, "node0", "node1", port) for port in FLOWS]

    with Cluster.start(pods(tmp_path, 7)) as same:
        assert ways(same) == ways(three_levels)
    with Cluster.start(pods(tmp_path, 8)) as other:
        assert ways(other) != ways(three_levels)


def test_switches_behind_each_other_choose_independently(three_levels: Cluster) -> None:
    """With one seed for all, what a leaf sends to a spine would leave that spine over half of its cables alone."""
    chosen = [way_of(three_levels, "node0", "node1", port) for port in range(40000, 40064)]
    pairs = {(way[1], way[2]) for way in chosen}
    assert len(pairs) == 8  # four cables of the leaf, two uplinks of the spine behind each


def test_the_counters_of_switches_are_read_without_a_process_in_them(three_levels: Cluster) -> None:
    def both() -> list[dict[tuple[str, str], int]]:
        cheap = counters_now(three_levels.spec, three_levels.counter_files())
        return [{(c.link, c.source): c.bytes for c in counts} for counts in (cheap, read_counters(three_levels))]

    before = both()
    send(three_levels, "node0", "node1", 2_000_000)
    after = both()
    assert len(before[0]) == 2 * len(three_levels.spec.links)
    for key in before[1]:
        cheap, exact = (now[key] - then[key] for then, now in zip(before, after, strict=True))
        assert abs(cheap - exact) < 20_000 + 0.05 * exact


def tabled(folder: Path, tables: str) -> VirtualSpec:
    """Two leaves of two hosts with two cables to their spine, and forwarding tables."""
    (folder / "tables.dump").write_text(tables)
    adapters = (f"H-{0x100000 + 2 * k:016x} node{k}" for k in range(4))
    (folder / "names").write_text("\n".join(adapters) + "\n")
    network = DUMP.format(folder=DATA, tables=folder / "tables.dump", names=folder / "names", rate="4 MB/s")
    return fabric_spec(folder, network, 3, "tables", "8 MB/s")


MADE_BY_OPENSM = (DATA / "small-lfts.dump").read_text()
PILED = MADE_BY_OPENSM.replace("0x0007 008", "0x0007 007", 1)


@pytest.mark.mpi
@pytest.mark.parametrize("installed", ["openmpi5"], indirect=True)
def test_real_tables_carry_real_traffic_where_they_say_and_better_ones_are_faster(
    installed: Installed, tmp_path: Path
) -> None:
    block, calls = 500_000, 3
    took: list[float] = []
    # a sender that waits for an answer behind the bytes of the other way takes longer, and differently each time
    environment = {**installed.starter.environment(), "OMPI_MCA_btl_tcp_eager_limit": "4194304"}
    for tables in (MADE_BY_OPENSM, PILED):
        spec = tabled(tmp_path, tables)
        network = build_network(load_fabric(tmp_path / "routed.toml"))
        load = placed_matrix(Routes(network, route_library()), np.full((4, 4), block) * (1 - np.eye(4)))
        with Cluster.start(spec) as up:
            request = asked(tmp_path, spec.hosts, 1)
            words = [str(installed.mpi.mpiexec()), *installed.starter.words(request), str(installed.program)]
            before = read_counters(up)
            assert launched(up, request, [*words, str(block), str(calls)], environment).returncode == 0
            counted = crossed(before, up)
        said = next(line for line in request.log.read_text().splitlines() if line.startswith("{"))
        took.append(json.loads(said)["seconds"])
        for link, cable in zip(range(0, len(load), 2), spec.links, strict=True):
            for way in (link, link + 1):
                source = network.vertex_name(int(network.links.source[way]))
                expected = calls * float(load[way])
                # above it: headers, what a full queue dropped and TCP sent again, the start of the ranks
                assert expected <= counted[cable.name, source] <= 1.2 * expected + 120_000, (cable, source)
    # four messages on a cable of half the hosts' rate in place of two
    assert took[1] / took[0] == pytest.approx(2, rel=0.1), took
