# SPDX-License-Identifier: BSD-3-Clause
"""``weft audit`` of real libraries: a call that a tool slows is found, under one library; another is judged."""

import subprocess
from pathlib import Path

import pytest
from real_weft import MPIS

from weft.analyse.tables.answers import GUIDELINES
from weft.analyse.tables.times import STARTUP
from weft.fabric import load_fabric
from weft.launch import launcher_for
from weft.mpi.library import find_mpi
from weft.run.check import exit_code
from weft.run.progress import Progress
from weft.run.shipped import audit_study, run_audit

SHIM = r"""
#include <mpi.h>
/* Gather as fast as the library's, and then once more. */
int MPI_Gather(const void *from, int sent, MPI_Datatype type, void *to, int received, MPI_Datatype into, int root,
               MPI_Comm comm) {
    PMPI_Gather(from, sent, type, to, received, into, root, comm);
    PMPI_Barrier(comm);
    PMPI_Gather(from, sent, type, to, received, into, root, comm);
    return PMPI_Barrier(comm);
}
"""


def audit(folder: Path, wrapper: Path, shim: Path | None = None) -> tuple[int, set[tuple[str, str]]]:
    """Exit code of an audit with two ranks, and the violated guidelines; ranks load ``shim``."""
    fabric = load_fabric("local")
    launcher = launcher_for(fabric, str(wrapper), lambda line: None)
    with pytest.MonkeyPatch.context() as patch:
        if shim:  # only now: what looks for the library would load it, too
            patch.setenv("LD_PRELOAD", str(shim))
        study = audit_study(fabric, "", "25s", "2")
        run = run_audit(study, fabric, launcher, Progress(), folder, 25.0)
    found = {(row["collective"], row["guideline"]) for row in GUIDELINES.read(folder) if row["violated"]}
    return exit_code(run), found


@pytest.mark.long
def test_a_call_that_a_tool_slows_is_found(tmp_path: Path) -> None:
    mpi = find_mpi()
    (tmp_path / "shim.c").write_text(SHIM)
    shim = tmp_path / "shim.so"
    compiler = mpi.wrapper.with_name(mpi.wrapper.name.replace("mpicxx", "mpicc"))
    subprocess.run([compiler, "-shared", "-fPIC", "-o", shim, tmp_path / "shim.c"], check=True)
    _, before = audit(tmp_path / "before", mpi.wrapper)
    code, slowed = audit(tmp_path / "slowed", mpi.wrapper, shim)
    assert code == 3
    assert {("gather", "gatherv"), ("gather", "allgather")} <= slowed
    assert not {call for call, _ in slowed - before} - {"gather"}
    (row, *_) = STARTUP.read(tmp_path / "before")
    assert 0.01 < (row["init_s"] or 0) < 30


@pytest.mark.long
def test_alltoallv_is_held_against_alltoall_under_mpich(tmp_path: Path) -> None:
    """Its twofold Alltoallv is one of many ranks (tests/virtual/test_virtual_guidelines.py)."""
    wrapper = next((each for name, each in MPIS.items() if "mpich" in name and each.exists()), None)
    if wrapper is None:
        pytest.skip("no MPICH wheel here")
    code, _ = audit(tmp_path / "run", wrapper)
    assert code in (0, 3)
    rows = GUIDELINES.read(tmp_path / "run")
    held = [row["factor"] for row in rows if (row["collective"], row["guideline"]) == ("alltoallv", "alltoall")]
    assert len(held) == 3
    assert all(factor and 0.2 < factor < 5 for factor in held)
