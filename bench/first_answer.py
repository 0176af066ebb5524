# SPDX-License-Identifier: BSD-3-Clause
"""The time to a first answer: a sweep of 21 sizes, `weft show` and `weft --help`, medians of five beside their targets.

    python bench/first_answer.py [--osu PATH/osu_alltoall] [--repeats 5]

With ``--osu`` the OSU benchmark of the same sizes runs between Weft's sweeps, under the same MPI. Exit code 1 if a
target is missed: meaningful only on a calm machine.
"""

import argparse
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median

from weft.mpi.library import find_mpi
from weft.mpi.starting import as_root

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
TARGETS_S = {"alltoall sweep of 21 sizes, 4 launches": 3.0, "weft show": 0.6, "weft --help": 0.25}
WEFT = (sys.executable, "-m", "weft")


def main() -> int:
    """Measure, print the table, and compare with the targets."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--osu", type=Path, help="osu_alltoall, built for the MPI that Weft finds")
    parser.add_argument("--repeats", type=int, default=5)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="weft-first-answer-") as place:
        times = measured(Path(place), given.osu, given.repeats)
    missed = False
    print(f"{'':42}{'median s':>10}{'target s':>10}")
    for what, seconds in times.items():
        target = TARGETS_S.get(what)
        missed = missed or (target is not None and median(seconds) > target)
        print(f"{what:42}{median(seconds):>10.2f}{'' if target is None else f'{target:.2f}':>10}")
    return int(missed)


def measured(place: Path, osu: Path | None, repeats: int) -> dict[str, list[float]]:
    """Wall seconds of each command, by what it is; one more run before builds the kernels and fills the caches."""
    study = place / "sweep.toml"
    study.write_text(STUDY)
    found: dict[str, list[float]] = {}
    for repeat in range(repeats + 1):
        run = place / f"run{repeat}"
        commands: dict[str, tuple[str, ...]] = dict(zip(TARGETS_S, (
            (*WEFT, "run", str(study), "--on", "local", "--into", str(run), "--anyway"),
            (*WEFT, "show", str(run)),
            (*WEFT, "--help"),
        ), strict=True))  # fmt: skip
        if osu is not None:
            commands["osu_alltoall, the same sizes, 1 launch"] = (
                "env", *(f"{name}={value}" for name, value in as_root().items()), str(find_mpi().mpiexec()),
                "-n", "2", str(osu), "-m", "1:1048576",
            )  # fmt: skip
        for what, command in commands.items():
            began = time.perf_counter()
            subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            if repeat:
                found.setdefault(what, []).append(time.perf_counter() - began)
    return found


if __name__ == "__main__":
    sys.exit(main())
