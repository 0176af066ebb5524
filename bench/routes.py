# SPDX-License-Identifier: BSD-3-Clause
"""What routes cost: reading tables, loads, phases, bisections, beside their goals and the memory's rate.

    python bench/routes.py [--hosts 4518 | 11664] [--rounds 3]

Prints wall time and processor time a core of the best of several rounds, the goal, and the share of the
memory-bandwidth bound: bytes that the computation must read at least once, over the rate at which this machine reads
memory. On a machine that does other work as well only the processor time says what the code costs, so goals are held
against that.
"""

import argparse
import tempfile
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import numpy as np

from weft.fabric.network.graph import Addresses, Network
from weft.fabric.network.sections import TreeSection
from weft.fabric.network.tree import fat_tree
from weft.fabric.readers import read_dump, read_tables
from weft.launch.preload import route_library
from weft.route.compare import effective_bisection
from weft.route.routes import Routes, all_to_all, phases
from weft.route.subnet import ibsim_text, tables_text

SHAPES = {
    4518: TreeSection.model_construct(
        nodes_per_leaf=18, uplinks=18, spines=9, leaves_per_pod=9, pod_uplinks=162, cores=162, link_rate=1e9
    ),
    11664: TreeSection.model_construct(
        nodes_per_leaf=18, uplinks=18, spines=18, leaves_per_pod=18, pod_uplinks=324, cores=324, link_rate=1e9
    ),
}
GOALS_S = {4518: (0.03, 1.0, 0.5), 11664: (0.2, 20.0, 2.0)}
READ_GOAL_S, TABLE_GOAL = 5.0, 300e6


class Took(NamedTuple):
    """Seconds of a piece of work: of processor time over all threads, and on the clock."""

    cpu_s: float
    wall_s: float


def best(rounds: int, work: Callable[[], object]) -> Took:
    """Seconds of the cheapest round."""
    times: list[Took] = []
    for _ in range(rounds):
        cpu, wall = time.process_time(), time.perf_counter()
        work()
        times.append(Took(time.process_time() - cpu, time.perf_counter() - wall))
    return min(times)


def read_rate() -> float:
    """Bytes per second that one core reads from memory: sums over 512 MiB."""
    data = np.ones(1 << 26)
    return data.nbytes / best(5, data.sum).cpu_s


def numbered(network: Network) -> Network:
    """The network with made-up LIDs and GUIDs, for tables to be written."""
    hosts, switches = len(network.hosts), len(network.switches)
    guid = np.arange(1, hosts + switches + 1, dtype=np.uint64) * 0x100
    lid = np.arange(1, hosts + switches + 1, dtype=np.int32)
    return replace(network, addresses=Addresses(guid[hosts:], guid[:hosts] + 1, lid[:hosts], lid[hosts:]))


def tell(what: str, took: Took, goal_s: float, threads: int = 1, bound_s: float | None = None) -> None:
    """One line: time, goal, share of the bound."""
    core_s = took.cpu_s / threads
    mark = "" if core_s <= goal_s else "  MISSED"
    share = "" if bound_s is None else f"  {100 * bound_s / core_s:5.1f} % of memory bound"
    print(f"{what:32} {core_s:8.3f} s a core, {took.wall_s:8.3f} s wall, goal {goal_s:6.3g} s{share}{mark}")


def readers(network: Network, rounds: int) -> None:
    """Network and tables as text."""
    with tempfile.TemporaryDirectory() as folder:
        net, lft = Path(folder) / "fabric.net", Path(folder) / "tables.lft"
        net.write_text(ibsim_text(network))
        lft.write_text(tables_text(numbered(network)))
        tell(f"read the network, {net.stat().st_size / 1e6:.0f} MB", best(rounds, lambda: read_dump(net)), READ_GOAL_S)
        size = lft.stat().st_size
        took = best(rounds, lambda: read_tables(lft))
        tell(f"its tables, {size / took.cpu_s / 1e6:.0f} MB/s", took, size / TABLE_GOAL)


def main() -> None:
    """Make a network, time everything."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--hosts", type=int, choices=SHAPES, default=4518)
    parser.add_argument("--rounds", type=int, default=3)
    given = parser.parse_args()
    network = fat_tree([f"n{i}" for i in range(given.hosts)], SHAPES[given.hosts], rate=1e9)
    routes = Routes(network, route_library())
    cores, rate = routes.graph.threads, read_rate()
    print(
        f"{given.hosts:,} hosts, {len(network.switches):,} switches, {cores} cores, {rate / 1e9:.1f} GB/s read a core"
    )
    readers(network, given.rounds)
    a2a_s, shift_s, bisect_s = GOALS_S[given.hosts]
    table = network.forward.nbytes / (cores * rate)
    rounds = given.rounds
    tell("all-to-all", best(rounds, lambda: all_to_all(routes)), a2a_s, cores, table)
    made = best(1, lambda: routes.paths)
    tell("routes of all leaves", made, a2a_s * 5, cores, table + routes.lengths.nbytes / cores / rate)
    followed = given.hosts * len(phases(routes).time)
    shifts = followed * int(routes.lengths.max()) * 4 / (cores * rate)
    tell(f"{followed // given.hosts:,} shift phases", best(1, lambda: phases(routes)), shift_s, cores, shifts)
    splits = 1000 * (given.hosts // 2) * 64 / (cores * rate)  # a line of the cache each
    tell("1,000 bisections", best(rounds, lambda: effective_bisection(routes)), bisect_s, cores, splits)


if __name__ == "__main__":
    main()
