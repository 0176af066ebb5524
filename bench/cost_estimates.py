# SPDX-License-Identifier: BSD-3-Clause
"""What `weft plan` expects simulations of every kernel to cost this host, beside what they took.

    python bench/cost_estimates.py [--kernels exchange collective ...] [--ranks 64 128] [--libraries ompi ...]
                                   [--networks fat-tree torus dragonfly rails]

Runs small studies of each kernel on tara extended (8 ranks a node), and on a torus, on a dragonfly and with two rails
in its place, one launch at a time, and prints for each launch messages as estimated and as counted, processor time as
estimated and as taken without the start of a simulation of two ranks, and the ratios of both. Launches that take and
are expected to take less than a second are printed, and not judged. Exit code 1 if an estimate is off by more than a
factor of three. (bench/simulated_costs.py has all-to-alls by algorithm.)
"""

import argparse
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import product
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))

from made.traces import MadeRank
from weft.fabric import Fabric, load_fabric
from weft.kernel.studies import load_study
from weft.launch.launcher import LaunchRequest, Outcome
from weft.launch.simulated.launcher import SimulatedLauncher
from weft.launch.simulated.simgrid import Programs, build_programs, find_simgrid
from weft.run.one import run_study
from weft.trace.replay import Asked, prepare
from weft.tune.study import What, tuning_study

OFF = 3.0
JUDGED_S = 1.0  # a shorter simulation is mostly its start
RANKS_PER_NODE = 8
LIBRARIES = ("mvapich2", "mpich", "ompi", "impi")
CALLS = ("bcast", "scatter", "gather", "allgather", "allreduce", "reduce", "reduce_scatter", "alltoall", "alltoallv")
SIZES = {"small": ["64 B"], "middle": ["64 KiB"], "large": ["256 KiB"], "huge": ["4 MiB"]}
HUGE = ("bcast", "scatter", "gather", "reduce", "allreduce")  # of the others a rank has p such blocks
TREE = """[network.tree]
nodes_per_leaf = 18
uplinks = 18
link_rate = "3.5 GB/s"
"""
TORUS = """[network.torus]
dimensions = [8, 8, 9]
link_rate = "3.5 GB/s"
"""
DRAGONFLY = """[network.dragonfly]
nodes_per_router = 4
routers_per_group = 8
global_links = 4
local_rate = "3.5 GB/s"
global_rate = "3.5 GB/s"
"""
NETWORKS = {
    "fat-tree": ("fat-tree", TREE), "torus": ("torus", TORUS), "dragonfly": ("dragonfly", DRAGONFLY),
    "rails": ("fat-tree", "rails = 2\n\n" + TREE),
}  # fmt: skip


def study_of(kernel: str, ranks: int, section: str, explain: str = "", more: str = "") -> str:
    """A study of one series of a kernel; those that have a breakdown say whether it is wanted."""
    nodes = ranks // RANKS_PER_NODE
    scaled = f'scaling = "weak"\nnodes = [{nodes}]\n' if explain else f"nodes = {nodes}\n"
    breakdown = f"explain = {explain}\n" if explain else ""
    return (
        f'name = "{kernel}"\nkernel = "{kernel}"\n{breakdown}[measure]\nlaunches = 1\nseed = 1\n[{kernel}]\n{section}'
        f'[[series]]\nname = "one"\n{scaled}ranks_per_node = {RANKS_PER_NODE}\n{more}'
    )


def exchange(ranks: int) -> Iterator[tuple[str, str]]:
    """Calls A, B and C of small and of large blocks, and C with its breakdown."""
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
            if name == "huge" and call not in HUGE:
                continue
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

    def __init__(self, inner: SimulatedLauncher, name: str, start_s: float) -> None:
        self.inner, self.name, self.start_s, self.worst = inner, name, start_s, 1.0
        self.rules, self.provenance = inner.rules, inner.provenance

    def run(self, requests: Sequence[LaunchRequest]) -> Iterator[Outcome]:
        """One after the other, none refused."""
        for request in requests:
            cost, counted = self.inner.cost(request), request.folder / "messages.txt"
            counting = {**request.environment, "WEFT_COUNT_MESSAGES": str(counted)}
            (outcome,) = self.inner.run([replace(request, limit_s=0.0, environment=counting)])
            messages = int(counted.read_text()) if counted.is_file() else 0
            taken_s = max(0.0, outcome.processor_s - self.start_s)
            ratio = max(taken_s, 1e-3) / cost.seconds
            judged = max(taken_s, cost.seconds) > JUDGED_S
            note = outcome.refused or ("" if judged else "not judged")
            print(
                f"{self.name:44} {request.ranks:5} ranks {cost.messages:10,} {messages:10,} {cost.seconds:8.2f} s "
                f"{taken_s:8.2f} s {messages / cost.messages:6.2f} {ratio:6.2f} {note}",
                flush=True,
            )
            if judged and not outcome.refused:
                self.worst = max(self.worst, ratio, 1 / ratio)
            yield outcome


class Starting:
    """A launcher that keeps how long one launch took."""

    def __init__(self, inner: SimulatedLauncher) -> None:
        self.inner, self.seconds = inner, 0.0
        self.rules, self.provenance = inner.rules, inner.provenance

    def run(self, requests: Sequence[LaunchRequest]) -> Iterator[Outcome]:
        """As they are."""
        for outcome in self.inner.run(requests):
            self.seconds = outcome.processor_s
            yield outcome


def start_of(programs: Programs, fabric: Fabric, folder: Path) -> float:
    """Seconds of processor time of a simulation that does next to nothing: two broadcasts among two ranks."""
    study = folder / "start.toml"
    section = 'collectives = ["Bcast"]\nsizes = ["64 B"]\n'
    study.write_text(study_of("collective", RANKS_PER_NODE, section, "false", "processes = [2]\n"))
    launcher = Starting(SimulatedLauncher(fabric, programs, workers=1))
    run_study(load_study(study), fabric, folder / "start", launcher, tables=False)
    return launcher.seconds


def fabric_of(network: str, library: str, folder: Path) -> Fabric:
    """Tara extended with another network, a library, and no budget."""
    text = load_fabric("tara-extended").text
    topology, section = NETWORKS[network]
    for old, new in (
        ('budget = "15 min"', 'budget = "10 h"'), ('"mvapich2"', f'"{library}"'), (TREE, section),
        ('topology = "fat-tree"', f'topology = "{topology}"'),
        ('"network.tree" =', f'"network.{topology}" =' if topology != "fat-tree" else '"network.tree" ='),
    ):  # fmt: skip
        if old not in text:
            raise SystemExit(f"fabrics/tara-extended.toml has no {old!r} any more: change bench/cost_estimates.py")
        text = text.replace(old, new)
    (folder / "fabric.toml").write_text(text)
    return load_fabric(folder / "fabric.toml")


def main() -> None:
    """Run, print, compare."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--kernels", nargs="+", choices=[*KERNELS, "replay"], default=[*KERNELS, "replay"])
    parser.add_argument("--ranks", type=int, nargs="+", default=[64, 128])
    parser.add_argument("--libraries", nargs="+", choices=LIBRARIES, default=LIBRARIES)
    parser.add_argument("--networks", nargs="+", choices=NETWORKS, default=["fat-tree"])
    parser.add_argument("--only", default="", help="only studies whose name begins with this")
    given = parser.parse_args()
    programs, worst = build_programs(find_simgrid()), 1.0
    for network, library in product(given.networks, given.libraries):
        with tempfile.TemporaryDirectory() as place:
            start_s = start_of(programs, fabric_of(network, library, Path(place)), Path(place))
        print(f"{network}, {library}: a start takes {start_s:.2f} s, taken off below", flush=True)
        for kernel, ranks in product(given.kernels, given.ranks):
            with tempfile.TemporaryDirectory() as place:
                folder = Path(place)
                fabric = fabric_of(network, library, folder)
                found = traced(folder, ranks, fabric) if kernel == "replay" else KERNELS[kernel](ranks)
                for at, (name, study) in enumerate(found):
                    path = study if isinstance(study, Path) else folder / f"{kernel}{at}.toml"
                    if not isinstance(study, Path):
                        path.write_text(study)
                    if name.startswith(given.only):
                        note = f"{network} {library} {kernel} {name}"
                        launcher = Recording(SimulatedLauncher(fabric, programs, workers=1), note, start_s)
                        run_study(load_study(path), fabric, folder / f"run{at}", launcher, tables=False)
                        worst = max(worst, launcher.worst)
    print(f"the worst estimate is off by a factor of {worst:.2f}")
    raise SystemExit(worst > OFF)


if __name__ == "__main__":
    main()
