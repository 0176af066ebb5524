# SPDX-License-Identifier: BSD-3-Clause
"""``weft exec``: every binding of both libraries is caught, by every algorithm, and says what it did."""

import json
import subprocess
from pathlib import Path

import pytest
from interposed import LIBRARIES, PROGRAMS, Site, calls_of, weft_exec

from weft.files.shipped import shipped
from weft.launch.preload import INTERPOSER, build_preload
from weft.mpi.library import Mpi

RANKS = 5


@pytest.mark.parametrize("suffix", LIBRARIES)
@pytest.mark.parametrize("binding", PROGRAMS)
def test_every_binding_of_both_libraries_is_caught(binding: str, suffix: str, tmp_path: Path) -> None:
    """Under Open MPI a shim of the C functions alone sees nothing of a Fortran program."""
    site = Site(suffix)
    program = site.compiled(binding, tmp_path)
    report = tmp_path / "report.json"
    options = ["--force", "node.multi{nl=2}", "--verify", "1", "--report", str(report)]
    done = weft_exec(options, [*site.start(RANKS), str(program)], tmp_path, "block:2")
    assert done.returncode == 0, done.stderr
    assert "all right" in done.stdout
    # only MPICH is MPI 4 here, with counts of 64 bits
    large = 1 if (binding, suffix) == ("c", "mpich") else 0
    expected = {"MPI_Alltoall": 2, "MPI_Alltoallv": 2, "MPI_Alltoall_c": large, "MPI_Alltoallv_c": large}
    assert calls_of(report) == {(name, "node.multi"): calls for name, calls in expected.items() if calls}
    said = json.loads(report.read_text())
    assert said["complete"]
    assert {line["nodes"] for line in said["calls"]} == {3}
    assert sum(line["verified"] for line in said["calls"]) == 4 + 2 * large
    assert said["passed_through_by_ranks"] == {"MPI_Ialltoall": RANKS}


C_API = """
#include "weft_alltoall.h"
#include <stdio.h>
int main(int argc, char **argv) {
    int rank, ranks, s[8], r[8], wrong = 0;
    char const *name, *help;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    for (int i = 0; i < ranks; ++i) s[i] = 10 * rank + i;
    if (weft_alltoall("node.direct{w=2}", s, 1, MPI_INT, r, 1, MPI_INT, MPI_COMM_WORLD) != MPI_SUCCESS) return 1;
    for (int i = 0; i < ranks; ++i) wrong += r[i] != 10 * i + rank;
    wrong += weft_alltoall_algorithm(0, &name, &help);
    if (wrong == 0 && rank == 0) printf("%s %s", name, weft_alltoall_ran());
    return MPI_Finalize();
}
"""


def test_the_library_has_a_c_interface_of_its_own(tmp_path: Path) -> None:
    """For those who do compile: a choice call by call; and nothing else of the library is to be seen."""
    site = Site("openmpi")
    library = build_preload(INTERPOSER, Mpi(site.program("mpicxx"), "test"))
    (tmp_path / "api.c").write_text(C_API)
    words = ["-I", str(shipped("native") / "alltoall"), "api.c", str(library), "-o", "api"]
    subprocess.run([site.program("mpicc"), *words], check=True, cwd=tmp_path)
    done = weft_exec([], [*site.start(4), str(tmp_path / "api")], tmp_path, "block:2")
    assert done.stdout == "pmpi node.direct", done.stderr
    listed = subprocess.run(["nm", "-D", "--defined-only", library], capture_output=True, text=True, check=True).stdout
    names = {line.split()[-1] for line in listed.splitlines()}
    assert {name for name in names if not name.lower().startswith("mpi_")} == {
        "weft_alltoall", "weft_alltoallv", "weft_alltoall_error", "weft_alltoall_algorithm", "weft_alltoall_ran",
    }  # fmt: skip


@pytest.mark.parametrize("suffix", LIBRARIES)
def test_every_algorithm_is_forced_in_turn(suffix: str, tmp_path: Path) -> None:
    """What is asked for is what runs."""
    site = Site(suffix)
    program = site.compiled("c", tmp_path)
    report = tmp_path / "report.json"
    for spec in ("pmpi", "flat.window{w=2}", "flat.pairwise", "bruck{r=3}", "node.direct{w=2}", "node.bruck"):
        options = ["--force", spec, "--report", str(report), "--prewarm"]
        done = weft_exec(options, [*site.start(RANKS), str(program)], tmp_path, "sizes:3,1")
        assert done.returncode == 0, done.stderr
        assert {name for _, name in calls_of(report)} == {spec.partition("{")[0]}


def test_a_table_chooses_from_the_second_call_on(tmp_path: Path) -> None:
    """The first call on a communicator is the library's: many communicators live for one call only."""
    site = Site("openmpi")
    program = site.compiled("c", tmp_path)
    evidence = {"median_us": 1, "interval_us": [1, 1], "pmpi_us": 2, "n": 10}
    rules = [
        {"op": "alltoall", "nodes": [3, 3], "bytes": [4, 4], "algorithm": "node.direct", "evidence": evidence},
        {"op": "alltoallv", "bytes": [1, 8], "algorithm": "bruck", "evidence": evidence},
    ]
    table = tmp_path / "table.json"
    table.write_text(json.dumps({"schema": "weft-tuning/1", "rules": rules}))
    report = tmp_path / "report.json"
    options = ["--table", str(table), "--report", str(report)]
    done = weft_exec(options, [*site.start(RANKS), str(program)], tmp_path, "block:2")
    assert done.returncode == 0, done.stderr
    assert calls_of(report) == {
        ("MPI_Alltoall", "pmpi"): 1, ("MPI_Alltoall", "node.direct"): 1,
        ("MPI_Alltoallv", "pmpi"): 1, ("MPI_Alltoallv", "bruck"): 1,
    }  # fmt: skip


ABORTING = """
#include <mpi.h>
int main(int argc, char **argv) {
    int s[8] = {0}, r[8];
    MPI_Init(&argc, &argv);
    MPI_Alltoall(s, 1, MPI_INT, r, 1, MPI_INT, MPI_COMM_WORLD);
    return MPI_Abort(MPI_COMM_WORLD, 3);
}
"""


def test_the_report_of_a_job_that_aborts_says_that_it_is_not_complete(tmp_path: Path) -> None:
    """The report of the job before must not be taken for its own."""
    site = Site("openmpi")
    (tmp_path / "abort.c").write_text(ABORTING)
    subprocess.run([site.program("mpicc"), "abort.c", "-o", "abort"], check=True, cwd=tmp_path)
    report = tmp_path / "report.json"
    report.write_text('{"schema": "weft-report/1", "complete": true}')
    done = weft_exec(["--report", str(report)], [*site.start(3), str(tmp_path / "abort")], tmp_path, "block:2")
    assert done.returncode != 0
    said = json.loads(report.read_text())
    assert (said["complete"], said["ranks"], said["calls"]) == (False, 3, [])


@pytest.mark.parametrize("suffix", LIBRARIES)
def test_a_wrong_spec_ends_the_job_with_what_there_is(
    suffix: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It must not run on by another algorithm than was asked for: of a job script, whose variables nobody checked."""
    site = Site(suffix)
    program = site.compiled("c", tmp_path)
    monkeypatch.setenv("WEFT_ALLTOALL", "node.mutli")
    done = weft_exec([], [*site.start(2), str(program)], tmp_path, "block:1")
    assert done.returncode != 0
    assert "all right" not in done.stdout
    assert 'no all-to-all algorithm is named "node.mutli" -> there are: pmpi, flat.window' in done.stderr


def test_a_switch_that_is_neither_on_nor_off_ends_the_job(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Who writes ``WEFT_PREWARM=yes`` wants it on: to run on without it would be told by nothing."""
    site = Site("openmpi")
    program = site.compiled("c", tmp_path)
    monkeypatch.setenv("WEFT_PREWARM", "yes")
    done = weft_exec([], [*site.start(1), str(program)], tmp_path, "block:1")
    assert done.returncode != 0
    assert 'WEFT_PREWARM is "yes" -> set it to 1, or leave it unset' in done.stderr
