# SPDX-License-Identifier: BSD-3-Clause
"""All-to-alls in rounds beside SimGrid's SMPI, cell by cell: is the engine for many ranks within 3 % of the reference?

    python bench/rounds.py [--machines tara contended ...] [--nodes 3 9] [--algorithms default node.multi ...]
                           [--sizes "8 B" "64 KiB"] [--ranks-per-node 8] [--pattern linear | --matrix FILE]
                           [--all] [--into DIR]

Runs one study on each machine by either engine (`--pattern`, `--matrix`: MPI_Alltoallv of unequal blocks), and prints
the cells that differ by over 1 % (`--all`: each), the worst of each algorithm, and how many are within the goal. Cells
of under 10 us may differ by one message, 0.5 us. Exit code 1 if one is off by more.
"""

import argparse
import subprocess
import sys
import tempfile
from itertools import groupby
from pathlib import Path
from typing import NamedTuple

from weft.fabric import load_fabric
from weft.fabric.importing import as_toml
from weft.format import format_seconds, percent
from weft.report.view import load_view

GOAL, SHOWN, MESSAGE_S = 0.03, 0.01, 0.5e-6
ALGORITHMS = ("default", "flat.pairwise", "flat.window", "flat.window{w=4,order=node-rotated}",
              "flat.window{order=permuted}", "flat.window{order=xor}", "bruck", "bruck{r=4}", "node.direct",
              "node.multi", "node.multi{nl=4,stages=4}", "node.bruck", "node.bruck{r=3}")  # fmt: skip
SIZES = ("8 B", "512 B", "4 KiB", "64 KiB")
TREE = 'topology = "fat-tree"\n[network.tree]\nnodes_per_leaf = 4\nuplinks = {}\n'
MACHINES = {
    "contended": ('preset = "hdr-infiniband"\n' + TREE.format(1), "mpich", ""),
    "rails": ('preset = "slingshot-11"\nrails = 2\n' + TREE.format(2), "mpich", ""),
    "gap": (
        'preset = "roce-100"\nmessage_gap = "0.1 us"\n' + TREE.format(4), "ompi", 'gap = "bytes"\nlibrary_copies = true'
    ),
    "torus": (
        'preset = "fdr-infiniband"\ntopology = "torus"\n[network.torus]\ndimensions = [4, 3, 3]\n', "mvapich2",
        'sharing = "equal"\ninside_cost = "0.3 us"',
    ),
}  # fmt: skip
FABRIC = """name = "{name}"
kind = "simulated"
[node]
names = "n[1-36]"
memory = "512 GiB"
preset = "epyc-7543p"
[network]
{network}
[simulation]
collectives = "{library}"
{more}
"""
STUDY = """name = "rounds"
kernel = "collective"
explain = false
[collective]
collectives = {calls}
sizes = {sizes}
algorithm = {algorithms}
{more}
[[series]]
name = "one"
nodes = {nodes}
ranks_per_node = {each}
[measure]
launches = 1
"""


class Cell(NamedTuple):
    """One all-to-all by both engines."""

    machine: str
    ranks: int
    call: str
    algorithm: str  # as the rounds name it
    smpi_s: float
    rounds_s: float

    @property
    def error(self) -> float:
        """Relative error of the rounds."""
        return self.rounds_s / self.smpi_s - 1

    @property
    def is_near(self) -> bool:
        """Whether it is within the goal."""
        return abs(self.error) <= GOAL or abs(self.rounds_s - self.smpi_s) <= MESSAGE_S


def fabric_of(name: str) -> str:
    """The text of a machine's file."""
    if name not in MACHINES:
        return as_toml(load_fabric(name))
    network, library, more = MACHINES[name]
    return FABRIC.format(name=name, network=network, library=library, more=more)


def times(machine: str, engine: str, study: Path, into: Path) -> dict[tuple[str, str], tuple[float, str, int]]:
    """Times in s, algorithms and ranks by cell and call of a machine."""
    fabric = into / f"{machine}-{engine}.toml"
    text = fabric_of(machine)
    # three samples: Weft's MPI_Alltoallv agrees on its memory in the calls 1, 2, 4, ... of a launch
    more = f'engine = "{engine}"\nbudget = "2 h"\nsamples = 3\n'
    kept = [
        line for line in text.splitlines(keepends=True) if not line.startswith(("engine =", "budget =", "samples ="))
    ]
    fabric.write_text("".join(line + (more if line.startswith("[simulation]") else "") for line in kept))
    run = into / f"{machine}-{engine}"
    subprocess.run(
        [sys.executable, "-m", "weft", "run", str(study), "--on", str(fabric), "--into", str(run)],
        check=True, stdout=subprocess.DEVNULL,
    )  # fmt: skip
    return {
        (row["cell"], row["call"]): (row["median_s"], row["algorithm"], row["ranks"])
        for row in load_view(run).rows
        if row["phase"] == "warm" and row["median_s"] and "@" in row["call"]
    }


def compared(machine: str, study: Path, into: Path) -> list[Cell]:
    """The cells of a machine that both engines have."""
    smpi, rounds = (times(machine, engine, study, into) for engine in ("ranks", "rounds"))
    both = [(key, own) for key, own in rounds.items() if own[1].endswith("(rounds)") and key in smpi]
    return [
        Cell(machine, ranks, call, algorithm.removesuffix(" (rounds)"), smpi[cell, call][0], seconds)
        for (cell, call), (seconds, algorithm, ranks) in both
    ]


def print_cells(cells: list[Cell], *, each: bool) -> None:
    """The cells that differ, and the worst of each algorithm."""
    for cell in cells:
        if each or abs(cell.error) > SHOWN:
            mark = "" if cell.is_near else "  MISSED"
            print(
                f"{cell.machine:10} {cell.ranks:4} ranks {cell.call:18} {cell.algorithm:24} "
                f"{format_seconds(cell.smpi_s):>9} {format_seconds(cell.rounds_s):>9} {cell.error:+7.1%}{mark}"
            )
    for name, own in groupby(sorted(cells, key=lambda cell: cell.algorithm), key=lambda cell: cell.algorithm):
        found = list(own)
        worst = max(found, key=lambda cell: abs(cell.error))
        print(
            f"{name:24} {len(found):4} cells, worst {worst.error:+.1%} ({worst.machine}, {worst.ranks}, {worst.call})"
        )
    near = sum(cell.is_near for cell in cells)
    print(f"{near} of {len(cells)} cells within {percent(GOAL)} of SMPI")


def main() -> int:
    """Run, compare, print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--machines", nargs="+", default=[*MACHINES, "tara"])
    parser.add_argument("--nodes", nargs="+", type=int, default=[3, 8])
    parser.add_argument("--algorithms", nargs="+", default=list(ALGORITHMS))
    parser.add_argument("--sizes", nargs="+", default=list(SIZES))
    parser.add_argument("--calls", nargs="+", default=["Alltoall", "Alltoallv"])
    parser.add_argument("--ranks-per-node", type=int, default=8)
    parser.add_argument("--pattern", default="equal", help="of blocks, as in a study")
    parser.add_argument("--matrix", type=Path, help="a file of blocks between ranks, as in a study")
    parser.add_argument("--all", action="store_true", help="print each cell")
    parser.add_argument("--into", type=Path)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as place:
        into = (given.into or Path(place)).resolve()
        into.mkdir(parents=True, exist_ok=True)
        study = into / "rounds.toml"
        more = f'patterns = ["{given.pattern}"]\n'
        if given.matrix:
            more = f'patterns = ["matrix"]\nmatrix = "{given.matrix.resolve()}"\n'
        asked = {"calls": given.calls, "sizes": given.sizes, "algorithms": given.algorithms, "nodes": given.nodes}
        study.write_text(STUDY.format(**asked, each=given.ranks_per_node, more=more))
        cells = [cell for machine in given.machines for cell in compared(machine, study, into)]
    print_cells(cells, each=given.all)
    return int(not all(cell.is_near for cell in cells))


if __name__ == "__main__":
    sys.exit(main())
