# SPDX-License-Identifier: BSD-3-Clause
"""What simulating a message costs this host, by algorithm and number of ranks, beside Weft's estimate.

    python bench/simulated_costs.py [--ranks 32 64 128 256] [--classes windowed eager at-once] [--seconds 60]

Simulates one all-to-all of each algorithm at each number of ranks (8 a node, on fabrics/tara-extended.toml), alone, and
prints processor time a message, the estimate of `weft plan`, and the power law through the points of each class, from
which the constants of src/weft/plan/simulation_budget.py are taken. An algorithm of which one point took longer than
--seconds is left out at more ranks. Exit code 1 if an estimate is off by more than a factor of two.
"""

import argparse
import math
import statistics
import tempfile
from pathlib import Path
from typing import NamedTuple

from weft.fabric import Fabric, load_fabric
from weft.fabric.simulation import SimulationSection
from weft.launch.launcher import LaunchRequest
from weft.launch.simulated.launcher import SimulatedLauncher
from weft.launch.simulated.simgrid import build_programs, find_simgrid
from weft.plan.records import LaunchCell
from weft.plan.wire import FlatHead, flat_launch
from weft.study import Measure

LARGE, SMALL = 65536, 64  # bytes of a block: above and below the fabric's eager limit of 16 KiB
CLASSES = {
    "windowed": (LARGE, ("alltoallv ring", "alltoallv mpich", "alltoallv mvapich2", "alltoall ring", "alltoall pair")),
    "eager": (SMALL, ("alltoallv ring", "alltoallv mpich", "alltoall ring", "alltoall mvapich2_scatter_dest")),
    "at-once": (LARGE, ("alltoallv ompi_basic_linear", "alltoall basic_linear", "alltoall mvapich2_scatter_dest")),
}
RANKS_PER_NODE = 8
OFF = 2.0
AT_RANKS = 128
JUDGED_S = 1.0  # a shorter simulation is mostly its start, which is taken off all of them


def fabric_with(call: str, algorithm: str) -> Fabric:
    """Tara extended, with one algorithm of a call and no budget."""
    tara = load_fabric("tara-extended")
    section = {"algorithms": {call: algorithm}, "collectives": "mpich", "budget": "10 h"}
    return tara.model_copy(update={"simulation": SimulationSection.model_validate(section)})


def simulated(call: str, algorithm: str, ranks: int, block: int) -> tuple[int, float, float]:
    """Messages, seconds of processor time and estimated seconds of one launch."""
    fabric, nodes = fabric_with(call, algorithm), math.ceil(ranks / RANKS_PER_NODE)
    launcher = SimulatedLauncher(fabric, build_programs(find_simgrid()), workers=1)
    values = {
        "collective": call, "bytes": [block], "form": "plain", "pattern": "equal", "root": 0, "combination": ""
    }  # fmt: skip
    asked = LaunchCell("c000", "collective", values, ranks)
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        (folder / "launches").mkdir()
        (folder / "cells").mkdir()
        plan = folder / "launches" / "c000.l1.plan"
        measure = Measure.model_validate({})
        plan.write_text(flat_launch(FlatHead("c000.l1", 1, folder), [asked], measure, launcher.rules))
        request = LaunchRequest(
            id="c000.l1", ranks=ranks, nodes=fabric.hosts[:nodes], ranks_per_node=RANKS_PER_NODE, order="block",
            oversubscribed=False, plan=plan, folder=folder, limit_s=0.0, cells=(asked,),
        )  # fmt: skip
        cost = launcher.cost(request)
        (outcome,) = launcher.run([request])
        if outcome.returncode:
            raise SystemExit(f"{call} {algorithm} on {ranks} ranks: {outcome.log.read_text()}")
    return cost.messages, outcome.processor_s, cost.seconds


class Point(NamedTuple):
    """Seconds of processor time a message of an algorithm at a number of ranks."""

    ranks: int
    seconds: float
    call: str
    algorithm: str


def law(points: list[Point]) -> str:
    """The power law through points, and the largest factor by which one misses it."""
    if len({point.ranks for point in points}) < 2:
        return "too few points for a law"
    ranks, seconds = [math.log(point.ranks) for point in points], [math.log(point.seconds) for point in points]
    slope, start = statistics.linear_regression(ranks, seconds)
    off = math.exp(max(abs(y - slope * x - start) for x, y in zip(ranks, seconds, strict=True)))
    at = math.exp(slope * math.log(AT_RANKS) + start)
    return f"{at * 1e6:.1f} us at {AT_RANKS} ranks, growing with their power {slope:.2f} (points within {off:.2f} x)"


def main() -> None:
    """Simulate, print, compare."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--ranks", type=int, nargs="+", default=[32, 64, 128, 256])
    parser.add_argument("--classes", nargs="+", choices=CLASSES, default=list(CLASSES))
    parser.add_argument("--seconds", type=float, default=60.0)
    given = parser.parse_args()
    worst, start_s = 1.0, simulated("alltoall", "ring", 2, SMALL)[1]
    print(f"a start takes {start_s:.2f} s, taken off below")
    for name in given.classes:
        block, algorithms = CLASSES[name]
        points = list[Point]()
        for call, algorithm in (each.split() for each in algorithms):
            for ranks in sorted(given.ranks):
                messages, taken_s, expected_s = simulated(call, algorithm, ranks, block)
                taken_s -= start_s
                points.append(Point(ranks, taken_s / messages, call, algorithm))
                if taken_s > JUDGED_S:
                    worst = max(worst, taken_s / expected_s, expected_s / taken_s)
                print(
                    f"{name:9} {call:10} {algorithm:24} {ranks:5} ranks {messages:9,} messages {taken_s:7.2f} s "
                    f"{taken_s / messages * 1e6:8.1f} us each, estimated {expected_s / messages * 1e6:8.1f} us",
                    flush=True,
                )
                if taken_s > given.seconds:
                    break
            own = [point for point in points if (point.call, point.algorithm) == (call, algorithm)]
            print(f"{name:9} {call:10} {algorithm:24} {law(own)}")
        print(f"{name}: {law(points)}")
    print(f"the worst estimate is off by a factor of {worst:.2f}")
    raise SystemExit(worst > OFF)


if __name__ == "__main__":
    main()
