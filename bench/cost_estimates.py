# SPDX-License-Identifier: BSD-3-Clause
"""What `weft plan` expects simulations of every kernel to cost this host, beside what they took.

    python bench/cost_estimates.py [--kernels exchange collective ...] [--ranks 64 128] [--libraries ompi ...]

Runs small studies of each kernel on tara extended (8 ranks a node), one launch at a time, and prints for each launch
messages as estimated and as counted, processor time as estimated and as taken without its start, and the ratios of
both. Launches that take and are expected to take less than a second are printed, and not judged. Exit code 1 if an
estimate is off by more than a factor of three. (bench/simulated_costs.py has all-to-alls by algorithm.)
"""

import argparse
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from made.traces import MadeRank
from weft.fabric import Fabric, load_fabric
from weft.kernel.studies import load_study
from weft.launch.launcher import LaunchRequest, Outcome
from weft.launch.simulated.cost import START_S
from weft.launch.simulated.launcher import SimulatedLauncher
from weft.launch.simulated.programs import Programs, build_programs
from weft.launch.simulated.simgrid import find_simgrid
from weft.run.one import run_study
from weft.trace.replay import Asked, prepare
from weft.tune.study import What, tuning_study

OFF = 3.0
JUDGED_S = 1.0  # a shorter simulation is mostly its start
RANKS_PER_NODE = 8
LIBRARIES = ("mvapich2", "mpich", "ompi", "impi")
CALLS = ("bcast", "scatter", "gather", "allgather", "allreduce", "reduce", "reduce_scatter", "alltoall", "alltoallv")
SIZES = {"small": ["64 B"], "large": ["256 KiB"]}


def study_of(kernel: str, ranks: int, section: str, explain: str = "", more: str = "") -> str:
    """A study of one series of a kernel; those that have a ladder say whether it is wanted."""
    nodes = ranks // RANKS_PER_NODE
    scaled = f'scaling = "weak"\nnodes = [{nodes}]\n' if explain else f"nodes = {nodes}\n"
    ladder = f"explain = {explain}\n" if explain else ""
    return (
        f'name = "{kernel}"\nkernel = "{kernel}"\n{ladder}[measure]\nlaunches = 1\nseed = 1\n[{kernel}]\n{section}'
        f'[[series]]\nname = "one"\n{scaled}ranks_per_node = {RANKS_PER_NODE}\n{more}'
    )


def exchange(ranks: int) -> Iterator[tuple[str, str]]:
    """Calls A, B and C of small and of large blocks, and C with its ladder."""
    for name, m, calls, explain in (
        ("A B", 8, '["A", "B"]', "false"), ("C small", 8, '["C"]', "false"), ("C large", 8192, '["C"]', "false"),
        ("C explained", 8192, '["C"]', "true"),
    ):  # fmt: skip
        section = f'data = "contention"\ncalls = {calls}\n'
        yield name, study_of("exchange", ranks, section, explain, f"n = {ranks * ranks}\nm = {m}\n")


def collective(ranks: int) -> Iterator[tuple[str, str]]:
    """Each call at a small and a large size, with rotating roots."""
    for call in CALLS:
        for name, sizes in SIZES.items():
            section = f"collectives = [{call.capitalize()!r}]\nsizes = {sizes}\n"
            yield f"{call} {name}", study_of("collective", ranks, section, "false")


def pairs(ranks: int) -> Iterator[tuple[str, str]]:
    """All pairs of ranks, alone and all at once."""
    for name, more in (("alone", ""), ("at once", "contention = true\n")):
        yield name, study_of("pairs", ranks, f'bytes = ["0 B", "256 KiB"]\n{more}')


def bandwidth(ranks: int) -> Iterator[tuple[str, str]]:
    """The shipped study, on so many ranks."""
    yield "shipped sizes", study_of("bandwidth", ranks, "")


def tune(ranks: int) -> Iterator[tuple[str, str]]:
    """The study of `weft tune`."""
    what = What((ranks // RANKS_PER_NODE,), RANKS_PER_NODE, ("64 B", "64 KiB"), 1)
    yield "table", tuning_study(load_fabric("tara-extended"), what)


KERNELS = {"exchange": exchange, "collective": collective, "pairs": pairs, "bandwidth": bandwidth, "tune": tune}


def traced(folder: Path, ranks: int, fabric: Fabric) -> Iterator[tuple[str, Path]]:
    """Replays of made applications: all-to-alls, and a ring of messages."""
    block, times = 65536, 4
    for name in ("all-to-all", "ring"):
        place = folder / name
        for rank in range(ranks):
            made = MadeRank(rank, ranks)
            for turn in range(times if name == "all-to-all" else 100 * times):
                at = 1_000_000 * (turn + 1)
                if name == "all-to-all":
                    made.call("MPI_Alltoall", at, at + 1000, bytes=ranks * block, received=ranks * block)
                    continue
                right, left = (rank + 1) % ranks, (rank - 1) % ranks
                made.call("MPI_Isend", at, at + 10, peer=right, tag=turn, bytes=block, request=turn + 1)
                made.call("MPI_Recv", at + 10, at + 900, peer=left, tag=turn, received=block)
                made.call("MPI_Wait", at + 900, at + 910, request=turn + 1)
            made.write(place / "raw")
        yield name, prepare(place, [fabric], Asked(nodes=ranks // RANKS_PER_NODE))[0]


class Recording:
    """A launcher that prints what each launch was expected to take, and took."""

    def __init__(self, inner: SimulatedLauncher) -> None:
        self.inner, self.name, self.worst = inner, "", 1.0
        self.rules, self.provenance = inner.rules, inner.provenance

    def run(self, requests: Sequence[LaunchRequest]) -> Iterator[Outcome]:
        """One after the other, none refused."""
        for request in requests:
            cost, counted = self.inner.cost(request), request.folder / "messages.txt"
            counting = {**request.environment, "WEFT_COUNT_MESSAGES": str(counted)}
            (outcome,) = self.inner.run([replace(request, limit_s=0.0, environment=counting)])
            messages = int(counted.read_text()) if counted.is_file() else 0
            taken_s = max(0.0, outcome.processor_s - START_S)
            ratio = max(taken_s, 1e-3) / cost.seconds
            judged = max(taken_s, cost.seconds) > JUDGED_S
            told = outcome.refused or ("" if judged else "not judged")
            print(
                f"{self.name:34} {request.ranks:5} ranks {cost.messages:10,} {messages:10,} {cost.seconds:8.2f} s "
                f"{taken_s:8.2f} s {messages / cost.messages:6.2f} {ratio:6.2f} {told}",
                flush=True,
            )
            if judged and not outcome.refused:
                self.worst = max(self.worst, ratio, 1 / ratio)
            yield outcome


def measured(programs: Programs, fabric: Fabric, name: str, study: Path, folder: Path) -> float:
    """Run one study; the largest factor by which one of its launches was off."""
    launcher = Recording(SimulatedLauncher(fabric, programs, workers=1))
    launcher.name = name
    run_study(load_study(study), fabric, folder, launcher, tables=False)
    return launcher.worst


def main() -> None:
    """Run, print, compare."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--kernels", nargs="+", choices=[*KERNELS, "replay"], default=[*KERNELS, "replay"])
    parser.add_argument("--ranks", type=int, nargs="+", default=[64, 128])
    parser.add_argument("--libraries", nargs="+", choices=LIBRARIES, default=LIBRARIES)
    parser.add_argument("--only", default="", help="only studies whose name begins with this")
    given = parser.parse_args()
    programs, worst = build_programs(find_simgrid()), 1.0
    text = load_fabric("tara-extended").text.replace('budget = "15 min"', 'budget = "10 h"')
    for library in given.libraries:
        for kernel in given.kernels:
            for ranks in given.ranks:
                with tempfile.TemporaryDirectory() as place:
                    folder = Path(place)
                    (folder / "fabric.toml").write_text(text.replace('"mvapich2"', f'"{library}"'))
                    fabric = load_fabric(folder / "fabric.toml")
                    found = traced(folder, ranks, fabric) if kernel == "replay" else KERNELS[kernel](ranks)
                    for at, (name, study) in enumerate(found):
                        path = folder / f"{kernel}{at}.toml"
                        if isinstance(study, Path):
                            path = study
                        else:
                            path.write_text(study)
                        if name.startswith(given.only):
                            told = f"{library} {kernel} {name}"
                            worst = max(worst, measured(programs, fabric, told, path, folder / f"run{at}"))
    print(f"the worst estimate is off by a factor of {worst:.2f}")
    raise SystemExit(worst > OFF)


if __name__ == "__main__":
    main()
