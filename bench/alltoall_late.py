# SPDX-License-Identifier: BSD-3-Clause
"""One rank late: who suffers?

    python bench/alltoall_late.py [--on FABRIC] [--nodes 8] [--ranks 8] [--sizes "512 B"] [--late 0.1 1 10] [--fake 2]

Measures the library's all-to-all and Weft's with all ranks on time, and then with the last rank late by so many times
what the library's took (the test hook WEFT_PLANT=late of the breakdown, a run for each). Prints how long the call takes
from the late rank's arrival on, and the ratio to the library's with the same rank late. With --fake B each B ranks of
this host are a node. Ranks beyond the cores share them: their times tell only that it works.
"""

import argparse
import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path

from weft.analyse.tables.breakdown import BREAKDOWN
from weft.fabric import load_fabric
from weft.format import format_seconds
from weft.mpi.algorithms import DEFAULT
from weft.report.tabular import Table, markdown
from weft.report.view import load_view
from weft.run.many import Measuring

STUDY = """\
name = "late"
kernel = "collective"
explain = true
[measure]
launches = {launches}
budget = "0.5 s"
[collective]
collectives = ["Alltoall"]
sizes = [{size}]
algorithm = {algorithms}
[placement]
oversubscribe = {oversubscribe}
[[series]]
name = "late"
scaling = "weak"
nodes = {nodes}
ranks_per_node = {ranks}
"""


def algorithms(ranks: int) -> list[str]:
    """What is held against each other: one of each kind."""
    flat = [DEFAULT, "flat.window{w=8}", "flat.pairwise", "sched.matrix", "bruck{r=2}"]
    return [*flat, "node.multi{nl=1}", f"node.multi{{nl={ranks}}}", "node.direct{w=64}", "node.bruck{r=2}"]


def times(into: Path, study: str, on: str, late_s: float) -> Mapping[str, float]:
    """Seconds of each algorithm from the last arrival on, with the last rank late."""
    os.environ["CXXFLAGS"] = "-DWEFT_FAULTS"  # kernels that can be late; both sides of the ratio on the same
    os.environ.pop("WEFT_PLANT", None)
    if late_s > 0:
        os.environ |= {"WEFT_PLANT": "late", "WEFT_PLANT_LATE_NS": str(round(late_s * 1e9))}
    into.parent.mkdir(parents=True, exist_ok=True)
    path = into.with_suffix(".toml")
    path.write_text(study)
    Measuring(str(path), (on,), into, None).go()
    names = {cell.id: str(cell.parameters["algorithm"]) for cell in load_view(into).plan.measured}
    return {names[row["cell"]]: row["seconds"] for row in BREAKDOWN.read(into) if row["step"] == "algorithm"}


def rows_of(size: str, found: Sequence[Mapping[str, float]]) -> list[tuple[str, ...]]:
    """A row for each algorithm: its time on time, and with each delay."""
    rows: list[tuple[str, ...]] = []
    for name in found[0]:
        cells = [f"{format_seconds(each[name])} ({each[name] / each[DEFAULT]:.2f})" for each in found]
        rows.append((size, name, *cells))
    return rows


def main() -> int:
    """Measure each size with all ranks on time and with each delay; print a table for each size."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--on", default="message-bound")
    parser.add_argument("--nodes", type=int, default=8)
    parser.add_argument("--ranks", type=int, default=8, help="ranks of a node")
    parser.add_argument("--fake", type=int, help="ranks of a faked node: with --nodes 1")
    parser.add_argument("--sizes", nargs="+", default=["512 B"])
    parser.add_argument("--late", nargs="+", type=float, default=[0.1, 1, 10])
    parser.add_argument("--into", type=Path, default=Path("runs/alltoall-late"))
    given = parser.parse_args()
    if given.fake:
        os.environ["WEFT_NODES_FAKE"] = f"block:{given.fake}"
    model = load_fabric(given.on).is_model
    for place, size in enumerate(given.sizes):
        listed = json.dumps(algorithms(given.fake or given.ranks))
        study = STUDY.format(
            launches=1 if model else 4, size=json.dumps(size), algorithms=listed,
            oversubscribe=json.dumps(not model and given.ranks > len(os.sched_getaffinity(0))), nodes=given.nodes,
            ranks=given.ranks,
        )  # fmt: skip
        on_time = times(given.into / f"{place}-on-time", study, given.on, 0)
        late = [factor * on_time[DEFAULT] for factor in given.late]
        found = [on_time] + [
            times(given.into / f"{place}-late{factor:g}", study, given.on, late_s)
            for factor, late_s in zip(given.late, late, strict=True)
        ]
        columns = ("block", "algorithm", "all on time", *(f"late by {format_seconds(each)}" for each in late))
        print(markdown(Table(f"{size}: time from the last arrival on", columns, tuple(rows_of(size, found)))))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
