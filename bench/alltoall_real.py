# SPDX-License-Identifier: BSD-3-Clause
"""Real ranks: is `auto`, by the table that weft tune makes here, ever slower than the library's own all-to-all?

    python bench/alltoall_real.py [--fake 2] [--ranks 4] [--launches 4] [--sizes "8 B" "512 B"] [--into DIR]

Nodes are faked on this host (WEFT_NODES_FAKE): messages between them go through the library as they would between two
hosts of one, and staging through shared memory. Ranks beyond the cores share them: their times tell only that it works.
Tunes, then checks in one run of its own. Prints every cell, and the cells where `auto` takes more than 5 % longer than
the library's choice with intervals that stand apart: there must be none, and some cell must have been measured.
"""

import argparse
import json
import os
from pathlib import Path

from weft.analyse.tables.times import TimedRow
from weft.format import format_bytes, measured_seconds
from weft.mpi.algorithms import DEFAULT
from weft.mpi.alltoall import AUTO
from weft.report.tabular import Table, markdown
from weft.report.view import RunView, load_view
from weft.tune.check import checked
from weft.tune.rows import rows_by_algorithm
from weft.tune.whole import Asked, Tuning

SLOWER = 1.05
COLUMNS = ("call", "block", "auto", "library", "ratio", "auto took")


def as_faked(table: Path, faked: Path, nodes: int, ranks_per_node: int) -> int:
    """Rules for the faked nodes in place of this one host, in a file; returns how many choose another algorithm."""
    whole = json.loads(table.read_text())
    for rule in whole["rules"]:
        if "nodes" in rule:
            rule["nodes"], rule["ranks_per_node"] = [nodes, nodes], [ranks_per_node, ranks_per_node]
    faked.write_text(json.dumps(whole, indent=1))
    return sum(rule["algorithm"] != "pmpi" for rule in whole["rules"])


def beside(view: RunView) -> list[tuple[str, ...]]:
    """A row for each call and size: `auto` and the library's choice with their intervals, and the ratio of medians."""
    return [
        (op, format_bytes(size), timed(rows[AUTO]), timed(rows[DEFAULT]),
         f"{rows[AUTO]['median_s'] / rows[DEFAULT]['median_s']:.2f}", rows[AUTO]["algorithm"])
        for (op, _, _, size), rows in sorted(rows_by_algorithm(view).items())
        if AUTO in rows and DEFAULT in rows
    ]  # fmt: skip


def timed(row: TimedRow) -> str:
    """A median with its interval."""
    return measured_seconds(row["median_s"], row["low_s"], row["high_s"])


def main() -> int:
    """Tune, check, and print what is slower; returns 1 if anything is."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--fake", type=int, default=2, help="ranks of a faked node")
    parser.add_argument("--ranks", type=int, default=4)
    parser.add_argument("--launches", type=int, default=4)
    parser.add_argument("--sizes", nargs="+", default=["8 B", "512 B", "8 KiB", "64 KiB"])
    parser.add_argument("--calls", nargs="+", default=["Alltoall"])
    parser.add_argument("--into", type=Path, default=Path("runs/alltoall-real"))
    parser.add_argument("--mpicxx")
    given = parser.parse_args()
    os.environ["WEFT_NODES_FAKE"] = f"block:{given.fake}"
    shared = given.ranks > len(os.sched_getaffinity(0))
    asked = Asked((1,), given.ranks, given.sizes, given.launches, given.calls, shared)
    tuning, table = Tuning("local", asked, given.into), given.into.with_name(f"{given.into.name}.json")
    code = tuning.go(table, given.mpicxx)
    faked = table.with_name(f"{given.into.name}-faked.json")
    rules = as_faked(table, faked, given.ranks // given.fake, given.fake)
    code = code or tuning.check(faked, given.mpicxx)
    view = load_view(given.into.with_name(f"{given.into.name}-check"))
    print(markdown(Table("auto beside the library's choice", COLUMNS, tuple(beside(view)), words=frozenset({0}))))
    found = checked(view)
    slower = [each for each in found if each.shown and each.to_default > SLOWER]
    faster = [each for each in found if each.shown and each.to_default < 1]
    if shared:
        print(f"{given.ranks} ranks share {len(os.sched_getaffinity(0))} cores: these times say nothing of a machine")
    print(f"{len(found)} cells, {rules} rules; auto slower by over 5 % beyond its interval: {len(slower)}")
    for each in slower + faster:
        print(f"  {each.op} {each.block_bytes} B: {each.to_default:.2f} of the library's time")
    return code or int(bool(slower) or not found)


if __name__ == "__main__":
    raise SystemExit(main())
