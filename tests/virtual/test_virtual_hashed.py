# SPDX-License-Identifier: BSD-3-Clause
"""Hashed paths with real connections: loads by cable for the same seeds and ports, and slow-downs over 40 seeds."""

import json
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from weft.fabric import load_fabric
from weft.fabric.network.build import build_network
from weft.launch.preload import route_library
from weft.launch.virtual.cluster import Cluster
from weft.launch.virtual.counters import read_counters
from weft.launch.virtual.spec import spec_of
from weft.launch.virtual.wiring import address, ports
from weft.route.hashed import Traffic
from weft.route.routes import Routes
from weft.store.links import passed

pytestmark = [pytest.mark.virtual, pytest.mark.long, pytest.mark.timeout(600)]
FABRIC = """
name = "hashed"
kind = "virtual"
[node]
names = "node[0-7]"
cores = 1
[network]
topology = "fat-tree"
adapter_rate = "32 MB/s"
routing = "ecmp"
[network.tree]
nodes_per_leaf = 4
uplinks = {spines}
link_rate = "{rate} kB/s"
"""
SEEDS = 40
EACH = 400_000  # bytes of a connection: seconds in all, so that slow starts and busy cores do not count
HEADERS = 1 + 66 / 8948
FIRST_PORT = 41000
#: Keeps a connection to every host of the other leaf; at a line with a time, sends over each of them at that time and
#: tells when the last byte of the others has arrived.
HOST = f"""
import socket, sys, threading, time
me, peers, size = int(sys.argv[1]), list(map(int, sys.argv[2].split(","))), int(sys.argv[3])
listening = socket.create_server(("", 7), backlog=64)
print("up", flush=True)
sys.stdin.readline()
out = []
for peer in peers:
    each = socket.socket()
    each.bind(("", {FIRST_PORT} + peer))
    each.connect((f"node{{peer}}", 7))
    out.append(each)
into = [listening.accept()[0] for _ in peers]
print("joined", flush=True)
def take(each):
    left = size
    while left:
        left -= len(each.recv(min(left, 1 << 16)))
for line in sys.stdin:
    takers = [threading.Thread(target=take, args=(each,)) for each in into]
    senders = [threading.Thread(target=each.sendall, args=(bytes(size),)) for each in out]
    for each in takers:
        each.start()
    time.sleep(max(0, float(line) - time.monotonic()))
    for each in senders:
        each.start()
    for each in takers + senders:
        each.join()
    print(time.monotonic(), flush=True)
"""


class Hosts:
    """A process on every host, with its connections to the other leaf."""

    def __init__(self, up: Cluster) -> None:
        self.up = up
        self.running = [self._start(host) for host in range(8)]
        self._each("up")
        self._tell("join")
        self._each("joined")

    def _start(self, host: int) -> "subprocess.Popen[str]":
        peers = ",".join(str(peer) for peer in range(8) if peer // 4 != host // 4)
        command = self.up.command(f"node{host}", [sys.executable, "-c", HOST, str(host), peers, str(EACH)])
        return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def _tell(self, line: str) -> None:
        for process in self.running:
            assert process.stdin is not None
            process.stdin.write(line + "\n")
            process.stdin.flush()

    def _lines(self) -> list[str]:
        return [process.stdout.readline().strip() for process in self.running if process.stdout is not None]

    def _each(self, line: str) -> None:
        assert self._lines() == [line] * 8

    def exchange(self) -> float:
        """Seconds until every host has what the other leaf sent it."""
        start = time.monotonic() + 0.1
        self._tell(repr(start))
        return max(map(float, self._lines())) - start


def set_seed(up: Cluster, seed: int) -> None:
    for row, switch in enumerate(("leaf0", "leaf1")):
        written = f"echo {seed + row} > /proc/sys/net/ipv4/fib_multipath_hash_seed"
        assert up.run(switch, ["sh", "-c", written]).returncode == 0


def chosen(up: Cluster) -> dict[str, int]:
    """Connections on each cable up from a leaf, as the leaves themselves say for their addresses and ports."""
    found = {link.name: 0 for link in up.spec.links if link.lower.startswith("leaf")}
    names = {(port.host, port.interface): port.link for port in ports(up.spec)}
    for leaf in range(2):
        own = [host for host in range(8) if host // 4 == leaf]
        asked = "".join(
            f"route get {address(up.spec, f'node{b}')} from {address(up.spec, f'node{a}')} iif l{a}b "
            f"ipproto tcp sport {FIRST_PORT + b} dport 7\n"
            for a in own
            for b in range(8)
            if b // 4 != leaf
        )
        words = ["sh", "-c", 'printf "%s" "$0" | ip -j -batch -', asked]
        said = up.run(f"leaf{leaf}", words).stdout
        for text in said.replace("][", "]\n[").splitlines():
            for route in json.loads(text):
                found[names[f"leaf{leaf}", route["dev"]]] += 1
    return found


@pytest.mark.parametrize("spines", [2, 4])
def test_measured_slowdowns_and_cables_are_those_predicted(spines: int, tmp_path: Path) -> None:
    path = tmp_path / "hashed.toml"
    rate = 8000 // spines
    path.write_text(FABRIC.format(spines=spines, rate=rate))
    fabric = load_fabric(path)
    predicted = Traffic(Routes(build_network(fabric), route_library()), None).slowdowns(1, 4000, 1)
    even_s = 16 / spines * EACH * HEADERS / (rate * 1e3)
    measured: list[float] = []
    by_ports: list[float] = []
    with Cluster.start(spec_of(fabric)) as up:
        hosts = Hosts(up)
        hosts.exchange()
        for seed in range(1, 2 * SEEDS, 2):
            set_seed(up, seed)
            expected, before = chosen(up), read_counters(up)
            measured.append(hosts.exchange() / even_s)
            moved = {c.link: c.bytes for c in passed(before, read_counters(up)) if c.source.startswith("leaf")}
            counted = {name: round(moved[name] / (EACH * HEADERS)) for name in expected}
            assert counted == expected, seed
            by_ports.append(max(expected.values()) / (16 / spines))
    for share in (0.5, 0.95):
        told = float(np.quantile(measured, share, method="inverted_cdf"))
        off = 1.96 * (share * (1 - share) / SEEDS) ** 0.5  # the quantile of so few seeds is one of these
        low, high = predicted.quantile(share - off), predicted.quantile(min(1.0, share + off))
        assert 0.95 * low < told < 1.1 * high, (sorted(measured), share)
    # one by one as well, but for a few that other work on this machine disturbed
    assert np.mean(np.abs(np.array(measured) / by_ports - 1) < 0.1) >= 0.9, list(zip(measured, by_ports, strict=True))
