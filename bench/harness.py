# SPDX-License-Identifier: BSD-3-Clause
"""What the harness costs: its warm medians beside a bare loop of the same call, in one job, interleaved.

    python bench/harness.py [--kernel exchange | pairs | sweep | rates] [--mpicxx PATH] [--ranks 2] [--rounds 9]

Prints, for each call and size, the median over the rounds of harness / bare, with its 95 % interval from six rounds on
(their range with fewer). Goal: 1.00 +- 0.05. Real times: leave the machine alone; `rates` takes about two minutes.
"""

import argparse
import os
import statistics
import subprocess
from collections import defaultdict
from pathlib import Path

from weft.analyse.statistics.interval import NO_INTERVAL, interval_over_launches
from weft.format import percent
from weft.mpi.library import find_mpi, parse_library
from weft.mpi.starting import cores_here, family_of

ROOT = Path(__file__).resolve().parents[1]
GOAL = 0.05
# sweep: collective and bandwidth; rates: beside the loops of OSU and mpiGraph
PROGRAMS = {"exchange": "bare_loop", "pairs": "bare_ping_pong", "sweep": "bare_sweep", "rates": "bare_rates"}


def build(wrapper: Path, program: str) -> Path:
    """Build a program of native/bench for one MPI below build/ and return the folder."""
    folder = ROOT / "build" / ("bench-" + "-".join(wrapper.parts[1:-1]))
    options = ["-G", "Ninja", "-DWEFT_BENCH=ON", f"-DMPI_CXX_COMPILER={wrapper}"]
    subprocess.run(["cmake", "-S", str(ROOT / "native"), "-B", str(folder), *options], check=True, capture_output=True)
    targets = ["--target", program, "weft-measure"]
    subprocess.run(["cmake", "--build", str(folder), *targets], check=True, capture_output=True)
    return folder


def main() -> None:
    """Build, run, print the ratios."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--kernel", choices=PROGRAMS, default="exchange")
    parser.add_argument("--mpicxx")
    parser.add_argument("--ranks", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=9)
    given = parser.parse_args()
    mpi = find_mpi(given.mpicxx)
    program = PROGRAMS[given.kernel]
    folder = build(mpi.wrapper, program)
    version = subprocess.run(
        [folder / "weft-measure", "--version"], check=True, capture_output=True, encoding="utf-8", errors="replace"
    ).stdout
    library = parse_library(version)
    family, cores = family_of(library), cores_here()
    crowded = given.ranks > cores.threads
    command = family.command(mpi.mpiexec(), given.ranks, crowded, cores, [str(folder / program), str(given.rounds)])
    printed = subprocess.run(
        command,
        check=True,
        capture_output=True,
        encoding="utf-8",
        errors="replace",
        env={**os.environ, **family.environment(crowded)},
    ).stdout
    ratios: dict[tuple[str, int], list[float]] = defaultdict(list)
    times: dict[tuple[str, int], list[float]] = defaultdict(list)
    least: dict[tuple[str, int], list[tuple[float, ...]]] = defaultdict(list)
    for line in printed.splitlines():
        call, size, _, harness_ns, bare_ns, _, _, *fastest = line.split()
        ratios[call, int(size)].append(float(harness_ns) / float(bare_ns))
        if len(fastest) == 2:
            least[call, int(size)].append(tuple(map(float, fastest)))
        times[call, int(size)].append(float(bare_ns))
    print(f"{library}, {given.ranks} ranks, {given.rounds} rounds interleaved; harness / bare loop: median over rounds")
    for (call, size), values in ratios.items():
        ratio = statistics.median(values)
        ends = interval_over_launches(values, NO_INTERVAL)
        share = f"{percent(ends.coverage)} " if ends.coverage else ""
        between = f"({share}{ends.low:.3f}-{ends.high:.3f})" if ends.low and ends.high else "(one round)"
        mark = "" if abs(ratio - 1) <= GOAL else f"  outside 1.00 +- {GOAL}"
        fastest = [min(each) for each in zip(*least[call, size], strict=True)]
        beside = f"  fastest {fastest[0] / fastest[1]:.3f}" if fastest else ""
        print(f"{call:15} {size:8} B  {ratio:.3f} {between}{beside}"
              f"  bare {statistics.median(times[call, size]) / 1000:.2f} us{mark}")  # fmt: skip


if __name__ == "__main__":
    main()
