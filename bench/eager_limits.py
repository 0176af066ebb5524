# SPDX-License-Identifier: BSD-3-Clause
"""Whether Weft finds an eager limit where it was moved to, and names the knob that moved it.

    python bench/eager_limits.py [--mpicxx .venv/bin/mpicxx] [--runs 20] [--seed 1] [--rest 0] [--keep DIR]

Moves the limit of shared memory (Open MPI: btl_sm_eager_limit, btl_vader_eager_limit before 5.0; MPICH:
MPIR_CVAR_CH4_SHM_POSIX_IQUEUE_CELL_SIZE) to a size drawn at random, measures the windowed bandwidth between two ranks
by `weft run`, and looks whether a change-over is found within one refinement step (1/8 octave) of the limit and named
with the knob. Goal: at least 19 in 20. On a machine that others use too, start it with `chrt -r 1`, as root.
"""

import argparse
import json
import math
import os
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from weft.launch.build import build_kernels
from weft.mpi.library import find_mpi
from weft.report.export import show_object
from weft.report.view import load_view

STEP = 2 ** (1 / 8)
GOAL = 0.95
STUDY = """\
name = "limit"
kernel = "bandwidth"

[measure]
launches = 5
min_samples = 10
max_samples = 100
budget = "0.1 s"
limit = "60 s"
seed = 1

[bandwidth]
patterns = ["intra-socket"]
sizes = "128 B .. 64 KiB"
refine = 10

[[series]]
name = "pair"
nodes = 1
ranks_per_node = 2
"""


def knob_of(library: str) -> tuple[str, str, int, int]:
    """Variable of the environment, name of the knob, and the sizes between which it is moved."""
    if library.startswith("Open MPI"):
        name = "btl_sm_eager_limit" if library.startswith("Open MPI v5") else "btl_vader_eager_limit"
        return f"OMPI_MCA_{name}", name, 1024, 16384
    # below the threshold of CMA (8 KiB), which would take larger messages away from the cells
    name = "MPIR_CVAR_CH4_SHM_POSIX_IQUEUE_CELL_SIZE"
    return name, name, 1024, 6144


def measure(folder: Path, wrapper: Path, environment: dict[str, str]) -> dict[str, Any]:
    """One run of the study; what `weft show --format json` would print of it."""
    study = folder / "limit.toml"
    study.write_text(STUDY)
    code = (
        "import weft.run.one, weft.cli.app, weft.report.page, weft.report.tables, sys; nothing = lambda *a, **k: None; "
    )
    code += "weft.run.one.make_tables = weft.report.page.write = weft.report.tables.show = nothing; weft.cli.app.main()"
    words = ["run", str(study), "--on", "local", "--into", str(folder / "run"), "--mpicxx", str(wrapper)]
    done = subprocess.run(
        [sys.executable, "-c", code, *words],
        env={**os.environ, **environment},
        capture_output=True,
        encoding="utf-8",
        errors="replace",
        check=False,
    )
    if done.returncode:
        raise SystemExit(f"weft run failed:\n{done.stdout}\n{done.stderr}")
    return show_object(load_view(folder / "run"))


def verdict(changes: list[dict[str, Any]], limit: int, knob: str) -> str:
    """``found and named``, ``found``, or ``missed``."""
    jumps = [change for change in changes if change["kind"] == "jump" and change["factor"] > 1]
    near = [change for change in jumps if change["lower"] / STEP <= limit <= change["upper"] * STEP]
    named = [change for change in near if knob in change["knobs"]]
    return "found and named" if named else "found" if near else "missed"


@contextmanager
def kept(keep: Path | None, name: str) -> Generator[Path]:
    """A folder for one run: of its own name where runs are kept, else for the moment."""
    if keep:
        (keep / name).mkdir(parents=True)
        yield keep / name
    else:
        with tempfile.TemporaryDirectory() as folder:
            yield Path(folder)


def main() -> None:
    """Move, measure, count."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--mpicxx")
    parser.add_argument("--runs", type=int, default=20)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--rest", type=float, default=0.0, help="seconds to leave the machine to others between runs")
    parser.add_argument("--keep", type=Path, help="keep the runs in this folder, to look at those that missed")
    given = parser.parse_args()
    kernels = build_kernels(find_mpi(given.mpicxx))
    variable, knob, low, high = knob_of(str(kernels.library.text))
    draw = random.Random(given.seed)
    hits = 0
    for number in range(1, given.runs + 1):
        limit = int(math.exp(draw.uniform(math.log(low), math.log(high)))) // 64 * 64
        with kept(given.keep, f"{number:03}-{limit}") as folder:
            value = measure(folder, kernels.mpi.wrapper, {variable: str(limit)})
        found = verdict(value["change_overs"], limit, knob)
        hits += found == "found and named"
        places = [f"{change['lower']}-{change['upper']} x{change['factor']:.2f}" for change in value["change_overs"]]
        print(f"{number:3} {variable}={limit}: {found}; {json.dumps(places)}", flush=True)
        time.sleep(given.rest)
    share = hits / given.runs
    print(f"{kernels.library}: {hits} of {given.runs} found within 1/8 octave and named; goal {GOAL:.0%}")
    raise SystemExit(0 if share >= GOAL else 1)


if __name__ == "__main__":
    main()
