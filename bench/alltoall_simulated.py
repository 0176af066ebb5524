# SPDX-License-Identifier: BSD-3-Clause
"""`auto` beside everything else, simulated: the tables of docs/dev/all-to-all.md, and a curve.

    python bench/alltoall_simulated.py [--nodes 8 18 36] [--gaps 0.2] [--sizes "8 B" "512 B"] [--into DIR] [--draw DIR]

For each number of nodes and each message gap (in us): a table by weft tune on the fabric message-bound with that gap,
then one run with `auto` by it, all of Weft's algorithms and the choices of four libraries' selectors. Each is a run
that the same command continues. Prints the time of `auto`, the best flat, Bruck's or selected algorithm, the ratio, and
a time that no schedule beats (weft.tune.model). With --draw: what `auto` saves over the gap at the first of the sizes.
"""

import argparse
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import altair as alt

from weft.fabric import load_fabric
from weft.format import format_bytes, format_seconds
from weft.report.figures import Figure
from weft.report.figures.theme import BLUE, GREEN, HEIGHT, ORANGE, chart
from weft.report.html import write_figures
from weft.report.tabular import Table, Words, markdown
from weft.report.view import load_view
from weft.tune.model import Machine, rows_by_algorithm
from weft.tune.whole import Asked, Tuning

OURS = ("auto", "node.")
RANKS = 8


@dataclass(frozen=True)
class Cell:
    """`auto` at one size, shape and gap (us), the best that knows nothing of nodes, the best of all, and the least."""

    gap_us: float
    nodes: int
    block_bytes: int
    auto_s: float
    best: str
    best_s: float
    every_s: float
    least_s: float

    @property
    def saved(self) -> float:
        """Share of the best one's time that `auto` saves."""
        return 1 - self.auto_s / self.best_s

    def row(self) -> tuple[str, ...]:
        """As printed."""
        return (
            f"{self.gap_us:g} us", f"N = {self.nodes}, p = {RANKS * self.nodes}", format_bytes(self.block_bytes),
            format_seconds(self.auto_s), self.best, format_seconds(self.best_s), f"{-100 * self.saved:+.0f} %",
            f"{self.auto_s / self.every_s:.3f}", format_seconds(self.least_s),
        )  # fmt: skip


def fabric_with(gap_us: float, folder: Path) -> Path:
    """The shipped fabric with another message gap."""
    text = load_fabric("message-bound").path.read_text()
    made = folder / f"message-bound-{gap_us:g}us.toml"
    folder.mkdir(parents=True, exist_ok=True)
    made.write_text(text.replace('message_gap = "0.2 us"', f'message_gap = "{gap_us:g} us"'))
    return made


def cells_of(run: Path, fabric: Path, gap_us: float) -> list[Cell]:
    """Each size of a run."""
    found: list[Cell] = []
    machine = Machine.of(load_fabric(str(fabric)))
    for (_, nodes, _, size), rows in sorted(rows_by_algorithm(load_view(run)).items()):
        seconds = {name: row["median_s"] for name, row in rows.items()}
        best = min((name for name in seconds if not name.startswith(OURS)), key=seconds.__getitem__)
        least = machine.least_seconds(nodes, RANKS, size)
        found.append(Cell(gap_us, nodes, size, seconds["auto"], best, seconds[best], min(seconds.values()), least))
    return found


def curve(cells: Sequence[Cell]) -> Figure:
    """What `auto` saves over the message gap: a line for each number of nodes, and dashed the most that is possible."""
    size = cells[0].block_bytes
    points = [
        {"gap": each.gap_us, "nodes": f"N = {each.nodes}", "saved": each.saved, "most": 1 - each.least_s / each.best_s}
        for each in cells
        if each.block_bytes == size
    ]
    names = list(dict.fromkeys(str(point["nodes"]) for point in points))
    colour = alt.Color("nodes:N", title=None, scale=alt.Scale(domain=names, range=[BLUE, ORANGE, GREEN][: len(names)]))
    x = alt.X("gap:Q", title="message gap g, us")
    base: Any = chart(points).encode(x=x, color=colour)
    axis = alt.Axis(format="%")
    saved = base.encode(y=alt.Y("saved:Q", title="time saved", axis=axis))
    most = base.encode(y=alt.Y("most:Q", title="time saved", axis=axis))
    drawn: Any = alt.layer(
        most.mark_line(strokeDash=[5, 4], strokeWidth=1.4), saved.mark_line(strokeWidth=2.2),
        saved.mark_point(size=50, filled=True, opacity=1),
    ).properties(height=HEIGHT)  # fmt: skip
    title = f"Time that auto saves at {format_bytes(size)} a pair, {RANKS} ranks a node (simulated)"
    key = "Against the best algorithm that knows nothing of nodes. Dashed: the most that any schedule could save."
    last = cells[-1]
    reading = f"With g = {last.gap_us:g} us {100 * last.saved:.0f} % at N = {last.nodes}."
    return Figure("alltoall-gap", title, key, reading, (drawn,))


def main() -> int:
    """Tune and check everywhere; print one table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--nodes", nargs="+", type=int, default=[8, 18, 36])
    parser.add_argument("--gaps", nargs="+", type=float, default=[0.2])
    parser.add_argument("--sizes", nargs="+", default=["8 B", "64 B", "512 B", "4 KiB", "16 KiB", "64 KiB"])
    parser.add_argument("--into", type=Path, default=Path("runs/alltoall-simulated"))
    parser.add_argument("--draw", type=Path, help="write the curve into this folder")
    given = parser.parse_args()
    cells: list[Cell] = []
    for gap in given.gaps:
        fabric = fabric_with(gap, given.into)
        for nodes in given.nodes:
            run = given.into / f"g{gap:g}-n{nodes}"
            asked = Asked((nodes,), RANKS, given.sizes, 1, ("Alltoall",))
            tuning, table = Tuning(str(fabric), asked, run), run.with_name(f"{run.name}.json")
            tuning.go(table)
            tuning.check(table)
            cells += cells_of(run.with_name(f"{run.name}-check"), fabric, gap)
    columns = (
        Words("g"),
        Words("shape"),
        "block",
        Words("auto"),
        "best without nodes",
        "its time",
        "auto takes",
        "to the best of all",
        "least",
    )
    rows = tuple(each.row() for each in cells)
    print(markdown(Table("MPI_Alltoall, simulated", columns, rows)))
    if given.draw is not None:
        write_figures([curve(cells)], given.draw)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
