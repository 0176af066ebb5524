# SPDX-License-Identifier: BSD-3-Clause
"""`auto` beside everything else, simulated: the tables of docs/all-to-all.md.

    python bench/alltoall_simulated.py [--nodes 8 18 36] [--gaps 0.2] [--sizes "8 B" "512 B"] [--into DIR]

For each number of nodes and each message gap (in us): a table by weft tune on the fabric message-bound with that gap,
then one run with `auto` by it, all of Weft's algorithms and the choices of four libraries' selectors. Each is a run
that the same command continues. Prints the time of `auto`, the best flat, Bruck's or selected algorithm, and the ratio.
"""

import argparse
from pathlib import Path

from weft.fabric import load_fabric
from weft.format import format_bytes, format_seconds
from weft.report.tabular import Table, markdown
from weft.report.view import load_view
from weft.tune.rows import rows_by_algorithm
from weft.tune.whole import Asked, Tuning

OURS = ("auto", "node.")


def fabric_with(gap_us: float, folder: Path) -> Path:
    """The shipped fabric with another message gap."""
    text = load_fabric("message-bound").path.read_text()
    made = folder / f"message-bound-{gap_us:g}us.toml"
    folder.mkdir(parents=True, exist_ok=True)
    made.write_text(text.replace('message_gap = "0.2 us"', f'message_gap = "{gap_us:g} us"'))
    return made


def rows_of(run: Path, gap_us: float) -> list[tuple[str, ...]]:
    """A row for each size of a run: `auto` and the best of all that knows nothing of nodes."""
    found: list[tuple[str, ...]] = []
    for (_, nodes, ranks, size), rows in sorted(rows_by_algorithm(load_view(run)).items()):
        seconds = {name: row["median_s"] for name, row in rows.items()}
        best = min((name for name in seconds if not name.startswith(OURS)), key=seconds.__getitem__)
        every = min(seconds.values())
        ratio = seconds["auto"] / seconds[best]
        found.append(
            (f"{gap_us:g} us", f"N = {nodes}, p = {ranks}", format_bytes(size), format_seconds(seconds["auto"]), best,
             format_seconds(seconds[best]), f"{100 * (ratio - 1):+.0f} %", f"{seconds['auto'] / every:.3f}")
        )  # fmt: skip
    return found


def main() -> int:
    """Tune and check everywhere; print one table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--nodes", nargs="+", type=int, default=[8, 18, 36])
    parser.add_argument("--gaps", nargs="+", type=float, default=[0.2])
    parser.add_argument("--sizes", nargs="+", default=["8 B", "64 B", "512 B", "4 KiB", "16 KiB", "64 KiB"])
    parser.add_argument("--into", type=Path, default=Path("runs/alltoall-simulated"))
    given = parser.parse_args()
    rows: list[tuple[str, ...]] = []
    for gap in given.gaps:
        fabric = fabric_with(gap, given.into)
        for nodes in given.nodes:
            run = given.into / f"g{gap:g}-n{nodes}"
            asked = Asked((nodes,), 8, given.sizes, 1, ("Alltoall",))
            tuning, table = Tuning(str(fabric), asked, run), run.with_name(f"{run.name}.json")
            tuning.go(table)
            tuning.check(table)
            rows += rows_of(run.with_name(f"{run.name}-check"), gap)
    columns = ("g", "shape", "block", "auto", "best without nodes", "its time", "auto takes", "to the best of all")
    print(markdown(Table("MPI_Alltoall, simulated", columns, tuple(rows), words=frozenset({0, 1, 4}))))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
