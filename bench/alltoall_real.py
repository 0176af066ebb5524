# SPDX-License-Identifier: BSD-3-Clause
"""Real ranks: is `auto`, by the table that weft tune makes here, ever slower than the library's own all-to-all?

    python bench/alltoall_real.py [--ranks 4] [--fake 2] [--launches 10] [--rounds 200] [--sizes "8 B" "512 B"]
    python bench/alltoall_real.py --on virtual-default --nodes 4 --ranks 2
    python bench/alltoall_real.py --table FILE ...

Makes a table by weft tune (or takes the one given), and starts bench/alltoall_real.c under `weft exec` with it: in each
round the call by libweft.so, the library's own, and the library's own once more, in random order. A launch's value is
the median over its rounds of the paired ratio; printed is the median over launches with its interval (METHOD 9), and
beside it the same of the library against itself: what that does not show of 5 %, the other cannot. A first launch
that does not count chooses how many calls a batch has and reports the algorithms.

On this host nodes are faked (WEFT_NODES_FAKE, --fake ranks each): messages between them go through the library as they
would between two hosts of one, and staging through shared memory. Ranks beyond the cores share them. Exit code 1 where
`auto` is shown to take more than 5 % longer.
"""

import argparse
import json
import os
import subprocess
import sys
from collections import defaultdict
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from weft.analyse.statistics.interval import NO_INTERVAL, Interval, interval_over_launches
from weft.fabric import load_fabric
from weft.format import exact_bytes, measured_seconds
from weft.launch.virtual.cluster import Cluster
from weft.launch.virtual.launcher import anywhere
from weft.launch.virtual.spec import spec_of
from weft.mpi.library import find_mpi
from weft.mpi.starting import cores_here, family_of
from weft.report.tabular import Table, Words, markdown
from weft.tune.whole import Asked, Tuning
from weft.units import parse_bytes

SLOWER = 1.05
COLUMNS = (Words("call"), "block", Words("auto took"), "the library's", "calls a batch", "auto to the library's",
           "the library's to itself", Words("5 %"))  # fmt: skip
Cell = tuple[str, int]


@dataclass(frozen=True)
class Launch:
    """What one launch measured of a cell: medians over its rounds; seconds of the library's own call."""

    batch: int
    own_s: float
    ratio: float
    control: float


def as_faked(table: Path, faked: Path, nodes: int, ranks_per_node: int) -> Path:
    """Rules for the faked nodes in place of this one host, in a file."""
    whole = json.loads(table.read_text(encoding="utf-8"))
    for rule in whole["rules"]:
        if "nodes" in rule:
            rule["nodes"], rule["ranks_per_node"] = [nodes, nodes], [ranks_per_node, ranks_per_node]
    faked.write_text(json.dumps(whole, indent=1), encoding="utf-8")
    return faked


@contextmanager
def starting(given: argparse.Namespace) -> Generator[tuple[list[str], list[str]]]:
    """Words that enter the fabric, and words that start the ranks there; a virtual one is up meanwhile."""
    fabric, mpi = load_fabric(given.on), find_mpi(given.mpicxx)
    library, mpiexec = mpi.described(), mpi.mpiexec()
    if library is None:
        sys.exit(f"{mpi.wrapper} does not say which library it is of -> name another with --mpicxx")
    family = family_of(library)
    if fabric.kind != "virtual":
        crowded = given.ranks > cores_here().threads
        os.environ |= family.environment(crowded)
        yield [], family.command(mpiexec, given.ranks, crowded, cores_here(), [])
        return
    os.environ |= anywhere()
    hosts = fabric.hosts[: given.nodes]
    across = family.across(hosts, given.ranks, cyclic=False)
    with Cluster.start(spec_of(fabric)) as up:
        yield up.command(hosts[0], []), [str(mpiexec), *across, *family.free, "-n", str(len(hosts) * given.ranks)]


def launch(command: Sequence[str]) -> dict[Cell, Launch]:
    """Run the program once under `weft exec`."""
    rounds: dict[Cell, list[list[float]]] = defaultdict(list)
    for line in subprocess.run(
        command, check=True, stdout=subprocess.PIPE, encoding="utf-8", errors="replace"
    ).stdout.splitlines():
        call, size, *numbers = line.split()
        rounds[call, int(size)].append(list(map(float, numbers)))
    return {
        cell: Launch(
            int(some[0][0]), median(own for _, _, own, _ in some) / 1e9,
            median(auto / own for _, auto, own, _ in some), median(again / own for _, _, own, again in some),
        )
        for cell, some in rounds.items()
    }  # fmt: skip


def launches(given: argparse.Namespace, table: Path, report: Path) -> list[dict[Cell, Launch]]:
    """All launches after the first one, which writes the report."""
    program = given.into / "alltoall_real"
    mpicc = find_mpi(given.mpicxx).wrapper.with_name("mpicc")
    subprocess.run([mpicc, "-O2", Path(__file__).with_suffix(".c"), "-o", program], check=True)
    cells = [(f"MPI_{call}", parse_bytes(size)) for call in given.calls for size in given.sizes]
    with starting(given) as (enter, start):

        def once(options: Sequence[str], *words: object) -> dict[Cell, Launch]:
            weft = [*enter, sys.executable, "-m", "weft", "exec", "--table", str(table), *options, "--"]
            return launch([*weft, *start, str(program), *map(str, words)])

        first = once(["--report", str(report)], 0, 10, *(f"{call}:{size}:0" for call, size in cells))
        asked = [f"{call}:{size}:{first[call, size].batch}" for call, size in cells]
        return [once([], number + 1, given.rounds, *asked) for number in range(given.launches)]


def ran(report: Path, cell: Cell) -> str:
    """The algorithm that most of libweft.so's calls of a cell took, by its report."""
    call, size = cell
    lines = [
        line
        for line in json.loads(report.read_text(encoding="utf-8"))["calls"]
        if line["op"] == call and line["bytes_per_pair_at_most"] // 2 < size <= line["bytes_per_pair_at_most"]
    ]
    return str(max(lines, key=lambda line: line["calls"])["algorithm"])


def verdict(interval: Interval) -> str:
    """What the interval of a ratio shows."""
    if interval.low is None or interval.high is None:
        return "not shown"
    if interval.high <= SLOWER:
        return f"{1 - interval.high:.0%} less at least" if interval.high < 1 else "not slower"
    return "SLOWER" if interval.low > SLOWER else "not shown"


def row(cell: Cell, some: Sequence[Launch], algorithm: str) -> tuple[str, ...]:
    """A cell as printed."""
    own, ratio, control = ([getattr(one, name) for one in some] for name in ("own_s", "ratio", "control"))
    ends = interval_over_launches(own, NO_INTERVAL)
    return (
        cell[0], exact_bytes(cell[1]), algorithm, measured_seconds(median(own), ends.low, ends.high),
        str(some[0].batch), factor(ratio), factor(control), verdict(interval_over_launches(ratio, NO_INTERVAL)),
    )  # fmt: skip


def factor(ratios: Sequence[float]) -> str:
    """The median over launches with its interval."""
    low, high, *_ = interval_over_launches(ratios, NO_INTERVAL)
    return f"{median(ratios):.3f}" + ("" if low is None or high is None else f" ({low:.3f}–{high:.3f})")


def tuned(given: argparse.Namespace) -> Path:
    """The table by weft tune, for the faked nodes where they are faked."""
    local = load_fabric(given.on).kind != "virtual"
    shared = local and given.ranks > cores_here().threads
    asked = Asked((given.nodes,), given.ranks, given.sizes, None, given.calls, oversubscribe=shared)
    table = given.into / "table.json"
    if Tuning(given.on, asked, given.into / "tune").go(table, given.mpicxx):
        raise SystemExit("weft tune failed")
    return as_faked(table, given.into / "faked.json", given.ranks // given.fake, given.fake) if local else table


def main() -> int:
    """Tune, measure both turn by turn, print; 1 if `auto` is shown to be slower anywhere."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--on", default="local")
    parser.add_argument("--nodes", type=int, default=1, help="hosts of a virtual fabric")
    parser.add_argument("--ranks", type=int, default=4, help="ranks of a host")
    parser.add_argument("--fake", type=int, default=2, help="ranks of a faked node")
    parser.add_argument("--launches", type=int, default=10)
    parser.add_argument("--rounds", type=int, default=200)
    parser.add_argument("--sizes", nargs="+", default=["8 B", "512 B", "8 KiB", "64 KiB"])
    parser.add_argument("--calls", nargs="+", default=["Alltoall"])
    parser.add_argument("--table", type=Path, help="a selection table in place of one made by weft tune")
    parser.add_argument("--into", type=Path, default=Path("runs/alltoall-real"))
    parser.add_argument("--mpicxx")
    given = parser.parse_args()
    given.into.mkdir(parents=True, exist_ok=True)
    if load_fabric(given.on).kind != "virtual":
        os.environ["WEFT_NODES_FAKE"] = f"block:{given.fake}"
    before, report = os.getloadavg()[0], given.into / "report.json"
    found = launches(given, given.table or tuned(given), report)
    rows = tuple(row(cell, [one[cell] for one in found], ran(report, cell)) for cell in found[0])
    print(markdown(Table("auto beside the library's choice", COLUMNS, rows)))
    load = f"load average {before:.1f} before, {os.getloadavg()[0]:.1f} after"
    print(f"{len(found)} launches of {given.rounds} rounds; {load}")
    return int(not rows or any(each[-1] == "SLOWER" for each in rows))


if __name__ == "__main__":
    raise SystemExit(main())
