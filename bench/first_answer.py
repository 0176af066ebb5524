# SPDX-License-Identifier: BSD-3-Clause
"""The time to a first answer, and what else people wait for: medians beside their targets, one row a command.

    python bench/first_answer.py [ROW ...] [--osu PATH/osu_alltoall] [--repeats 5] [--folder DIR] [--calm]

Rows: sweep (21 sizes, 4 launches; with --osu the OSU benchmark of the same sizes and MPI between the sweeps), show,
help, page-1024 and page-4096 (reports on pairs of so many ranks), samples (501 million of them analysed, by
bench/pairs_analysis.py), compile (what a first run of contention needs, then all kernels, each into an empty cache);
all if none is named. Wall seconds, processor seconds (user and system) and peak memory. What rows make beforehand is
kept in --folder. Exit code 1 if a target of processor time or memory is missed; with --calm, which a calm machine has
to be, of wall time too. Modules of Weft are compiled to bytecode before, and PYTHONDONTWRITEBYTECODE is unset, as
where a user installed it.
"""

import argparse
import os
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import median
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "src"), str(ROOT / "tests")]

from made.usage import Usage, usage_of  # noqa: E402

STUDY = """\
name = "sweep"
kernel = "collective"
explain = false
[measure]
launches = 4
min_samples = 10
max_samples = 100
budget = "10 ms"
[collective]
collectives = ["Alltoall"]
sizes = "1 B .. 1 MiB"
[[series]]
name = "sizes"
nodes = [1]
ranks_per_node = 2
"""
WEFT = (sys.executable, "-m", "weft")


class Target(NamedTuple):
    """What a row may take at most; 0 for any."""

    wall_s: float = 0.0
    processor_s: float = 0.0
    peak_bytes: float = 0.0


TARGETS = {
    "sweep": Target(wall_s=3.0),
    "show": Target(processor_s=0.6),
    "help": Target(processor_s=0.25),
    "page-1024": Target(processor_s=2.0),
    "page-4096": Target(processor_s=5.0),
    "samples": Target(processor_s=5.0, peak_bytes=2**29),
    "compile": Target(wall_s=12.0),
}


class Bench(NamedTuple):
    """Where rows keep what they make, OSU's program if there is one, and how often each is measured."""

    folder: Path
    osu: Path | None
    repeats: int

    def repeated(self, command: Sequence[str], first: bool = True) -> list[Usage]:
        """What a command uses each time, after a first time that fills caches."""
        if first:
            _ = used(command)
        return [used(command) for _ in range(self.repeats)]


def used(command: Sequence[str], **more: str) -> Usage:
    """Run a command that has to succeed."""
    found = usage_of(["env", *(f"{name}={value}" for name, value in more.items()), *command])
    if not found.ok:
        raise SystemExit(f"{' '.join(command)} ended with exit code {found.code}:\n{found.output}")
    return found


def sweep(bench: Bench) -> dict[str, list[Usage]]:
    """A run of 21 sizes, from the command to its card; the same of OSU between, one launch without an interval."""
    from weft.mpi.library import find_mpi
    from weft.mpi.starting import as_root

    study = bench.folder / "sweep.toml"
    study.write_text(STUDY)
    found: dict[str, list[Usage]] = {"sweep": []}
    with tempfile.TemporaryDirectory(dir=bench.folder) as place:
        for repeat in range(bench.repeats + 1):  # the first one builds the kernels
            run = f"{place}/run{repeat}"
            found["sweep"].append(used([*WEFT, "run", str(study), "--on", "local", "--into", run, "--anyway"]))
            if bench.osu is not None:
                words = [str(find_mpi().mpiexec()), "-n", "2", str(bench.osu), "-m", "1:1048576"]
                found.setdefault("osu_alltoall, 1 launch", []).append(used(words, **as_root()))
    return {name: each[1:] for name, each in found.items()}


def show(bench: Bench) -> dict[str, list[Usage]]:
    """The card of a kept run whose tables are current."""
    from made.kept import copy_of

    with tempfile.TemporaryDirectory(dir=bench.folder) as place:
        return {"show": bench.repeated([*WEFT, "show", str(copy_of("collective", Path(place)))])}


def show_help(bench: Bench) -> dict[str, list[Usage]]:
    """``weft --help``."""
    return {"help": bench.repeated([*WEFT, "--help"])}


THINNED = 128  # nodes from which every eighth rank alone is made: as much to draw, in a sixty-fourth of the memory


def page(nodes: int) -> Callable[[Bench], dict[str, list[Usage]]]:
    """The page of a made run of pairs of 16 ranks on each of so many nodes."""

    def row(bench: Bench) -> dict[str, list[Usage]]:
        from made.pairs import Cluster, Thinned
        from made.pairs_run import make_pairs_run

        run = bench.folder / f"pairs-{16 * nodes}"
        if not (run / "tables" / "tables.json").exists():
            make_pairs_run(run, Cluster(nodes) if nodes < THINNED else Thinned(nodes))
        return {f"page-{16 * nodes}": bench.repeated([*WEFT, "report", str(run)])}

    return row


def samples(bench: Bench) -> dict[str, list[Usage]]:
    """Tables of 501 million samples of pairs, which are made first (1 GB)."""
    program, folder = str(ROOT / "bench" / "pairs_analysis.py"), str(bench.folder / "samples-1024")
    if not Path(folder, "samples").exists():
        _ = used([sys.executable, program, "--folder", folder])
    task = [sys.executable, program, "--task", "analyse", "--folder", folder]
    return {"samples": bench.repeated(task, first=False)}


CODE = """\
from weft.kernel.registry import program_of
from weft.kernel.studies import load_study
from weft.launch.build import build_kernels
from weft.mpi.library import find_mpi
build_kernels(find_mpi(), only={only})
"""
BUILDS = {"compile": 'program_of(load_study("contention"))', "compile, all kernels": '""'}


def build(bench: Bench) -> dict[str, list[Usage]]:
    """What is compiled before a first run of contention, into an empty cache, without ccache; and all kernels."""
    found: dict[str, list[Usage]] = {name: [] for name in BUILDS}
    for _ in range(min(bench.repeats, 3)):
        for name, only in BUILDS.items():
            with tempfile.TemporaryDirectory(dir=bench.folder) as place:
                command = [sys.executable, "-c", CODE.format(only=only)]
                found[name].append(used(command, XDG_CACHE_HOME=place, CCACHE_DISABLE="1"))
    return found


ROWS: dict[str, Callable[[Bench], dict[str, list[Usage]]]] = {
    "help": show_help,
    "show": show,
    "sweep": sweep,
    "compile": build,
    "page-1024": page(64),
    "page-4096": page(256),
    "samples": samples,
}


def print_row(name: str, found: Sequence[Usage], calm: bool) -> bool:
    """Print a row: medians, each beside its target; false if one is missed."""
    target = TARGETS.get(name, Target())
    seen = Target(
        *(median(each) for each in zip(*((x.wall_s, x.processor_s, x.peak_bytes) for x in found), strict=True))
    )
    cells = [f"{value / unit:9.2f} {f'({most / unit:.2f})' if most else '':7}" for value, most, unit in
             zip(seen, target, (1, 1, 2**30), strict=True)]  # fmt: skip
    print(f"{name:26}", *cells, flush=True)
    judged = slice(None if calm else 1, None)
    return all(value <= most or not most for value, most in zip(seen[judged], target[judged], strict=True))


def main() -> int:
    """Measure the rows, and compare with the targets."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("rows", nargs="*", metavar="ROW", help=", ".join(ROWS))
    parser.add_argument("--osu", type=Path, help="osu_alltoall, built for the MPI that Weft finds")
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--folder", type=Path, help="keep made runs and samples here, and use what is here already")
    parser.add_argument("--calm", action="store_true", help="judge wall time, too")
    given = parser.parse_args()
    if unknown := set(given.rows) - set(ROWS):
        parser.error(f"no row {', '.join(sorted(unknown))}: {', '.join(ROWS)}")
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    print(f"{'median (target)':26} {'wall s':>9} {'':7} {'CPU s':>9} {'':7} {'GiB':>9}")
    with tempfile.TemporaryDirectory(prefix="weft-first-answer-") as place:
        bench = Bench((given.folder or Path(place)).absolute(), given.osu, given.repeats)
        bench.folder.mkdir(parents=True, exist_ok=True)
        met = [
            print_row(name, found, given.calm) for row in given.rows or ROWS for name, found in ROWS[row](bench).items()
        ]
    return 0 if all(met) else 1


if __name__ == "__main__":
    sys.exit(main())
