# SPDX-License-Identifier: BSD-3-Clause
"""What the tests on virtual clusters share besides fixtures; also imported by the scripts that they start."""

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from weft.launch.launcher import BLOCK, LaunchRequest
from weft.launch.virtual.cluster import Cluster
from weft.launch.virtual.counters import read_counters
from weft.launch.virtual.launcher import Starter, launched
from weft.launch.virtual.spec import VirtualLink, VirtualSpec
from weft.mpi.library import Mpi
from weft.store.links import LinkCount, passed

HERE = Path(__file__).parent
ROOT = HERE.parents[1]

RECEIVE = """
import socket
listening = socket.create_server(("", 7))
print("up", flush=True)
connection, _ = listening.accept()
count = 0
while got := connection.recv(1 << 20):
    count += len(got)
print(count)
"""
SEND = "import socket as s, sys; c=s.create_connection((sys.argv[1], 7)); c.sendall(bytes(int(sys.argv[2])))"


def two_leaves(name: str = "two-leaves", host: float = 62.5e6, uplink: float = 62.5e6) -> VirtualSpec:
    """Two leaves of two hosts under one spine; rates in bytes per second."""
    hosts = tuple(f"node{k}" for k in range(4))
    links = [VirtualLink(f"{name_}-leaf{k // 2}", name_, f"leaf{k // 2}", host) for k, name_ in enumerate(hosts)]
    links += [VirtualLink(f"leaf{k}-spine", f"leaf{k}", "spine", uplink) for k in range(2)]
    return VirtualSpec(name, hosts, ("leaf0", "leaf1", "spine"), tuple(links))


@dataclass(frozen=True)
class Installed:
    """An MPI, and the program built for it."""

    mpi: Mpi
    starter: Starter
    program: Path


def variables(home: Path) -> dict[str, str]:
    """Environment of a script that imports Weft from this checkout, with a home it may write to."""
    return {**os.environ, "PYTHONPATH": f"{ROOT / 'src'}:{HERE}", "HOME": str(home), "PYTHONDONTWRITEBYTECODE": "1"}


def send(cluster: Cluster, source: str, target: str, count: int) -> int:
    """Send bytes from one host to another; gives how many arrived."""
    receiver = subprocess.Popen(
        cluster.command(target, [sys.executable, "-c", RECEIVE]), stdout=subprocess.PIPE, text=True
    )
    assert receiver.stdout is not None
    assert receiver.stdout.readline() == "up\n"
    sent = cluster.run(source, [sys.executable, "-c", SEND, target, str(count)])
    assert sent.returncode == 0, sent.stderr
    return int(receiver.communicate()[0])


def asked(folder: Path, nodes: tuple[str, ...], each: int, order: str = BLOCK, ranks: int = 0) -> LaunchRequest:
    """A launch of so many ranks on each host."""
    (folder / "launches").mkdir(exist_ok=True)
    return LaunchRequest(
        id="c000.l1", ranks=ranks or each * len(nodes), nodes=nodes, ranks_per_node=each, order=order,
        oversubscribed=False, plan=folder / "plan", folder=folder, limit_s=60.0,
    )  # fmt: skip


def alltoall(up: Cluster, mpi: Installed, request: LaunchRequest, size: int, calls: int = 1) -> dict[str, Any]:
    """Run the program of known volume; gives its line."""
    command = [str(mpi.mpi.mpiexec()), *mpi.starter.words(request), str(mpi.program), str(size), str(calls)]
    outcome = launched(up, request, command, mpi.starter.environment())
    said = request.log.read_text()
    assert outcome.returncode == 0, said
    return json.loads(next(line for line in said.splitlines() if line.startswith("{")))


def crossed(before: list[LinkCount], up: Cluster) -> dict[tuple[str, str], int]:
    """Bytes over each direction of each link since then."""
    return {(count.link, count.source): count.bytes for count in passed(before, read_counters(up))}


def wait_for(true: Callable[[], object], within_s: float = 20.0) -> None:
    """Wait until something is true."""
    until = time.monotonic() + within_s
    while not true():
        assert time.monotonic() < until
        time.sleep(0.02)


def gone(pids: list[int], within_s: float = 5.0) -> bool:
    """Wait until none of the processes is there any more."""
    until = time.monotonic() + within_s
    while time.monotonic() < until:
        if not any(alive(pid) for pid in pids):
            return True
        time.sleep(0.01)
    return False


def alive(pid: int) -> bool:
    """Is a process there, and not merely waiting to be reaped by its parent?"""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def request(folder: Path, number: int, plan: str, limit_s: float = 60.0, each: int = 1) -> LaunchRequest:
    """A launch over all four hosts whose ranks do what the plan says."""
    nodes = ("node0", "node1", "node2", "node3")
    path = folder / f"{number}.plan"
    path.write_text(plan + "\n")
    return replace(asked(folder, nodes, each), id=f"c{number:03}.l1", plan=path, limit_s=limit_s)
