# SPDX-License-Identifier: BSD-3-Clause
"""`sched.matrix` beside other orders of an uneven MPI_Alltoallv and a time that no order beats: docs/dev/all-to-all.md.

    python bench/skewed_orders.py [--on message-bound] [--nodes 8] [--patterns hot zipf moe] [--skew 1 2 5]
        [--sizes "4 KiB" "64 KiB" "1 MiB"] [--launches 4] [--into DIR]
    python bench/skewed_orders.py --virtual [--patterns hot zipf] [--sizes "64 KiB"]

With `--virtual` four hosts under one switch, then those of `virtual-default`, whose uplinks carry half of what hosts
inject: real TCP, a table each, six minutes each on two cores.

Two ranks a node, a run a size (an order is that of the first calls of a cell), one launch on a model. The same command
continues the runs. Prints a row for each matrix: the time of
`sched.matrix`, the least time, the best other algorithm. 1 where `sched.matrix` takes over 1.05 times the least time,
or is over 3 % behind the best other.

No schedule takes less than Weft's bound (bytes of the busiest adapter or link) plus the overhead and latency of one
message, where the fabric file states them. Nor less than the mean adapter needs: its bytes, a gap for each other node
to which it sends, or, if that is cheaper, the bytes once more by a node that forwards them; the last gap is not waited
for. Copies and barriers are free.
"""

import argparse
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from weft.analyse.tables.times import TimedRow, timed
from weft.bound.placed import traffic_of
from weft.bound.terms import INJECTION, LINK
from weft.fabric import Fabric, load_fabric
from weft.format import format_bytes, format_seconds
from weft.kernel.sizes import split_op
from weft.kernel.traffic import peak_of
from weft.report.tabular import Table, Words, markdown
from weft.report.view import load_view

STUDY = """
name = "skewed-orders"
kernel = "collective"
explain = false
[measure]
limit = "600 s"
{measure}
[collective]
collectives = ["Alltoallv"]
sizes = ["{size}"]
patterns = {patterns}
skew = {skew}
algorithm = ["default", "flat.window", "flat.pairwise", "node.multi", "node.direct", "sched.matrix"]
[[series]]
name = "s"
nodes = {nodes}
ranks_per_node = 2
"""
MODEL = 'launches = 1\nstart = "window"\nmin_samples = 5\nmax_samples = 5'
REAL = 'launches = {}\nmin_samples = 5\nmax_samples = 20\nbudget = "0.3 s"'
STAR = """
name = "star"
kind = "virtual"
[node]
names = "node[0-3]"
cores = 2
memory = "2 GiB"
[network]
topology = "star"
adapter_rate = "62.5 MB/s"
"""
OURS, RATIO, BEHIND = "sched.matrix", 1.05, 1.03


@dataclass(frozen=True)
class Point:
    """One matrix: seconds of `sched.matrix` over launches, the least time, and the best other algorithm's."""

    pattern: str
    mean_bytes: int
    seconds: float
    range_s: tuple[float, float]
    least_s: float
    bound: str
    best: str
    best_s: float

    @property
    def ratio(self) -> float:
        """Its time over the least one."""
        return self.seconds / self.least_s

    @property
    def behind(self) -> float:
        """Its time over that of the best other."""
        return self.seconds / self.best_s

    def row(self) -> tuple[str, ...]:
        """As printed."""
        low, high = self.range_s
        spread = f" ({format_seconds(low)}–{format_seconds(high)})" if low < high else ""
        return (
            self.pattern, format_bytes(self.mean_bytes),
            format_seconds(self.seconds) + spread, f"{format_seconds(self.least_s)}, {self.bound}", f"{self.ratio:.3f}",
            self.best, f"{self.behind:.3f}",
        )  # fmt: skip


def measure(given: argparse.Namespace, fabric: Fabric, size: str) -> list[Point]:
    """The points of one size, measured unless they are there. SystemExit: a run failed."""
    asked = {key: str(getattr(given, key)).replace("'", '"') for key in ("nodes", "patterns", "skew")}
    run = given.into / f"{fabric.name}-{size.replace(' ', '')}"
    given.into.mkdir(parents=True, exist_ok=True)
    study = run.with_suffix(".toml")
    rules = MODEL if fabric.is_model else REAL.format(given.launches)
    study.write_text(STUDY.format(measure=rules, size=size, **asked))
    command = [sys.executable, "-m", "weft", "run", str(study), "--on", given.on, "--into", str(run), "--anyway"]
    if code := subprocess.run(command, stdout=subprocess.DEVNULL, check=False).returncode:
        raise SystemExit(code)
    return points_of(run, fabric)


def least_seconds(row: TimedRow, moved: np.ndarray, fabric: Fabric) -> float:
    """A time that no schedule beats."""
    assert fabric.network is not None and row["bound_s"] is not None
    section, nodes = fabric.network, len(moved)
    sent, gap = moved * (1 - np.eye(nodes)), section.message_gap or 0.0
    one_message = (section.latency or 0.0) + section.overhead
    mean = 0.0
    if rate := section.node_rate:
        mean = (sent / rate + np.minimum(gap, sent / rate)).sum() / nodes - gap
    moving = row["bound_s"] if row["bound"] == INJECTION or row["bound"].startswith(LINK) else 0.0
    return max(row["bound_s"], one_message + max(moving, float(mean)))


def points_of(run: Path, fabric: Fabric) -> list[Point]:
    """Each matrix of a run that `sched.matrix` and another algorithm have a time of."""
    view = load_view(run)
    cells = {cell.id: cell for cell in view.plan.measured}
    rows: dict[str, dict[str, TimedRow]] = {}
    for row in timed(view.rows, phase="warm"):
        if "@" in row["call"]:
            rows.setdefault(row["call"], {})[cells[row["cell"]].parameters.get("algorithm", "default")] = row
    found: list[Point] = []
    for call, timings in rows.items():
        own = timings.pop(OURS, None)
        if own is None or not timings:
            continue
        cell, (_, largest) = cells[own["cell"]], split_op(call)
        traffic = traffic_of(cell, call)
        assert traffic is not None and largest is not None
        moved = np.array(traffic.between(cell.nodes, cell.ranks_per_node), dtype=float)
        pattern = cell.parameters["pattern"]
        mean = round(largest / peak_of(pattern, cell.ranks))
        best = min(timings, key=lambda name: timings[name]["median_s"])
        found.append(
            Point(
                pattern, mean, own["median_s"], (own["launch_low_s"], own["launch_high_s"]),
                least_seconds(own, moved, fabric), own["bound"], best, timings[best]["median_s"],
            )
        )  # fmt: skip
    return found


def table_of(given: argparse.Namespace) -> bool:
    """Measure on a fabric, or continue; print the table and how many rows are as promised. Whether all are."""
    fabric = load_fabric(given.on)
    points = [point for size in given.sizes for point in measure(given, fabric, size)]
    points.sort(key=lambda point: (point.pattern, point.mean_bytes))
    columns = (Words("matrix"), "mean block", "time", "least", "ratio", Words("best other"), "to it")
    print(markdown(Table(f"MPI_Alltoallv on {fabric.name}", columns, tuple(point.row() for point in points))))
    near = sum(point.ratio <= RATIO for point in points)
    first = sum(point.behind <= BEHIND for point in points)
    worst, last = max(point.ratio for point in points), max(point.behind for point in points)
    print(f"{near} of {len(points)} at most {RATIO} times the least time (worst {worst:.3f})")
    print(f"{first} of {len(points)} at most {BEHIND} times the best other (worst {last:.3f})")
    return min(near, first) == len(points)


def main() -> int:
    """The tables that are asked for."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--on", default="message-bound")
    parser.add_argument("--virtual", action="store_true")
    parser.add_argument("--nodes", type=int)
    parser.add_argument("--patterns", nargs="+")
    parser.add_argument("--skew", nargs="+", type=float, default=[1.0, 2.0, 5.0])
    parser.add_argument("--sizes", nargs="+")
    parser.add_argument("--launches", type=int, default=4)
    parser.add_argument("--into", type=Path, default=Path("runs/skewed-orders"))
    given = parser.parse_args()
    virtual = given.virtual
    given.nodes = given.nodes or (4 if virtual else 8)
    given.patterns = given.patterns or (["hot", "zipf"] if virtual else ["hot", "zipf", "moe"])
    given.sizes = given.sizes or (["64 KiB"] if virtual else ["4 KiB", "64 KiB", "1 MiB"])
    fabrics = [given.on]
    if virtual:
        given.into.mkdir(parents=True, exist_ok=True)
        star = given.into / "star.toml"
        star.write_text(STAR)
        fabrics = [str(star), "virtual-default"]
    good: list[bool] = []
    for given.on in fabrics:
        good.append(table_of(given))
    return int(not all(good))


if __name__ == "__main__":
    sys.exit(main())
