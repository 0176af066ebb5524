# SPDX-License-Identifier: BSD-3-Clause
"""Traces of applications that end badly, fork, call from threads, or ask for more than they may write."""

import json
import re
import subprocess
from collections import Counter
from pathlib import Path

import pytest
from interposed import LIBRARIES, Site
from test_applications import CHANGING, PSEUDOPOTENTIALS, SILICON
from traced import compiled, events_of, weft_trace

from weft.cli.app import main
from weft.store.trace.folder import TRACE_RANKS, TraceFolder
from weft.store.trace.layout import Flag, State
from weft.store.trace.reader import read_header, trace_files
from weft.trace.take import bring_in

HEAD = """
#include <mpi.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
static int rank, ranks, given;
"""
ENDING = """
int main(int argc, char **argv) {
    int x = 0, y;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    for (int i = 0; i < 100; ++i) MPI_Allreduce(&x, &y, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 1) END;
    MPI_Barrier(MPI_COMM_WORLD);
    sleep(100);
    return 0;
}
"""
ENDS = {
    "killed": "kill(getpid(), SIGKILL)",
    "aborted": "MPI_Abort(MPI_COMM_WORLD, 7)",
    "left": "exit(3)",
    "crashed": "*(volatile int *)0 = 1",
}


REPEATED = """
int main(int argc, char **argv) {
    int x = 0, y;
    MPI_Init(&argc, &argv);
    for (int i = 0; i < atoi(argv[1]); ++i) MPI_Allreduce(&x, &y, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    MPI_Finalize();
    return 0;
}
"""


def test_a_file_has_a_checksum_whatever_is_left_for_its_last_part(tmp_path: Path) -> None:
    """It is read back in parts of 1,024 records; the last one of 1 to 7 left a file without a checksum."""
    site = Site("openmpi")
    program = compiled(site, "c", tmp_path, HEAD + REPEATED)
    others = 0
    for left in (1020, 1017, 1023, 0):
        calls = 1024 + left - others
        folder = tmp_path / f"left{left}"
        folder.mkdir()
        assert weft_trace(folder, [*site.start(1), str(program), str(calls)]).returncode == 0
        (path,) = trace_files(folder / "run/raw")
        head = read_header(path)
        others = head.records - calls
        assert State.SUMMED in head.state, head.records


@pytest.mark.parametrize("end", ENDS)
def test_what_a_rank_recorded_before_its_end_is_kept_and_said_to_be_partial(
    end: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    site = Site("openmpi")
    program = compiled(site, "c", tmp_path, HEAD + ENDING.replace("END", ENDS[end]))
    done = weft_trace(tmp_path, [*site.start(2), str(program)])
    assert done.returncode not in (0, None)
    assert "this trace is partial: 2 ranks of 2" in done.stderr
    assert "without MPI_Finalize" in done.stderr
    calls = [row["call"] for row in events_of(tmp_path / "run") if row["rank"] == 1]
    assert calls.count("MPI_Allreduce") == 100
    assert calls.count("MPI_Barrier") == 1
    assert main(["trace", "show", str(tmp_path / "run"), "--format", "json"]) == 0
    assert len(json.loads(capsys.readouterr().out)["partial"]) == 2


FORKING = """
int main(int argc, char **argv) {
    int x = 1, y, status;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    for (int i = 0; i < 10; ++i) {
        MPI_Allreduce(&x, &y, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
        pid_t child = fork();
        if (child == 0) {
            MPI_Comm_rank(MPI_COMM_WORLD, &rank);
            MPI_Request nothing = MPI_REQUEST_NULL;
            MPI_Wait(&nothing, MPI_STATUS_IGNORE); // no call of the application
            _exit(0);
        }
        waitpid(child, &status, 0);
    }
    if (system("true") != 0) return 1;
    return MPI_Finalize();
}
"""


def test_the_child_of_a_fork_writes_nothing_into_its_parents_trace(tmp_path: Path) -> None:
    site = Site("openmpi")
    done = weft_trace(tmp_path, [*site.start(2), str(compiled(site, "c", tmp_path, HEAD + FORKING))])
    assert done.returncode == 0, done.stderr
    assert [row["call"] for row in events_of(tmp_path / "run")] == ["MPI_Allreduce"] * 20
    assert "partial" not in done.stderr


THREADED = """
enum { THREADS = 4, TIMES = 500 };
static void *work(void *number) {
    int me = (int)(long)number, x = me, y = -1, other = rank ^ 1;
    for (int i = 0; i < TIMES; ++i) {
        MPI_Request q[2];
        MPI_Irecv(&y, 1, MPI_INT, other, me, MPI_COMM_WORLD, &q[0]);
        MPI_Isend(&x, 1, MPI_INT, other, me, MPI_COMM_WORLD, &q[1]);
        MPI_Waitall(2, q, MPI_STATUSES_IGNORE);
        if (y != me) abort();
    }
    return 0;
}
int main(int argc, char **argv) {
    pthread_t threads[THREADS];
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &given);
    if (given != MPI_THREAD_MULTIPLE) { puts("no threads"); return MPI_Finalize(); }
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    for (long i = 0; i < THREADS; ++i) pthread_create(&threads[i], 0, work, (void *)i);
    for (int i = 0; i < THREADS; ++i) pthread_join(threads[i], 0);
    return MPI_Finalize();
}
"""


@pytest.mark.parametrize("suffix", LIBRARIES)
def test_calls_of_many_threads_are_all_there_and_every_request_ends_once(suffix: str, tmp_path: Path) -> None:
    site = Site(suffix)
    done = weft_trace(tmp_path, [*site.start(2), str(compiled(site, "c", tmp_path, HEAD + THREADED))])
    assert done.returncode == 0, done.stderr
    if "no threads" in done.stdout:
        pytest.skip(f"{suffix} was built without MPI_THREAD_MULTIPLE")
    for rank in (0, 1):
        rows = [row for row in events_of(tmp_path / "run") if row["rank"] == rank]
        assert len({row["thread"] for row in rows}) == 4
        started = [row["request"] for row in rows if row["call"] in ("MPI_Isend", "MPI_Irecv")]
        ended = [row["request"] for row in rows if row["call"] == "completion"]
        assert len(started) == len(set(started)) == 4000
        assert sorted(ended) == sorted(started)
        tags = {row["request"]: row["tag"] for row in rows if row["call"] in ("MPI_Isend", "MPI_Irecv")}
        assert all(tags[row["request"]] == row["tag"] for row in rows if row["call"] == "completion")


MANY = """
int main(int argc, char **argv) {
    int x = 1, y;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    for (int i = 0; i < 30000; ++i) {
        MPI_Sendrecv(&x, 1, MPI_INT, rank ^ 1, 0, &y, 1, MPI_INT, rank ^ 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        for (int k = 0; k < 2; ++k) MPI_Iprobe(rank ^ 1, 99, MPI_COMM_WORLD, &y, MPI_STATUS_IGNORE);
    }
    return MPI_Finalize();
}
"""


def test_beyond_the_size_calls_are_summarised_and_no_count_byte_or_second_is_lost(tmp_path: Path) -> None:
    site = Site("openmpi")
    program = compiled(site, "c", tmp_path, HEAD + MANY)
    done = weft_trace(tmp_path, [*site.start(2), str(program)], "--most", "1 MiB")
    assert done.returncode == 0, done.stderr
    assert "summarised by call site" in done.stderr
    run = tmp_path / "run"
    for path in trace_files(run / "raw"):
        assert path.stat().st_size <= 2**20
        assert State.LIMITED in read_header(path).state
    rows = [row for row in events_of(run) if row["rank"] == 0]
    sends = [row for row in rows if row["call"] == "MPI_Sendrecv"]
    assert sum(row["calls"] for row in sends) == 30000
    assert sum(row["bytes"] for row in sends) == 120000
    assert sum(row["received"] for row in rows if row["call"] == "completion") == 120000
    assert sum(row["calls"] for row in rows if row["call"] == "MPI_Iprobe") == 60000
    (summary,) = [row for row in sends if row["flags"] & Flag.SUMMARY]
    assert 0 < summary["seconds_ns"] < summary["end_ns"] - summary["begin_ns"]


def test_polls_in_a_row_are_one_record(tmp_path: Path) -> None:
    site = Site("openmpi")
    program = compiled(site, "c", tmp_path, HEAD + MANY.replace("30000", "5"))
    weft_trace(tmp_path, [*site.start(2), str(program)])
    probes = [row for row in events_of(tmp_path / "run") if row["call"] == "MPI_Iprobe"]
    assert [row["calls"] for row in probes] == [2] * 10


def test_two_variables_trace_in_a_job_script_and_a_folder_that_cannot_be_written_stops_nobody(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The library that an earlier trace built; where one rank cannot write, none traces, since clocks are common.

    A file that is there may be that of a program which runs: one that it starts (MPI_Comm_spawn) cut it off, and killed
    it at its next record.
    """
    site = Site("openmpi")
    program = compiled(site, "c", tmp_path, HEAD + MANY.replace("30000", "5"))
    first = weft_trace(tmp_path, [*site.start(2), str(program)])
    assert first.returncode == 0, first.stderr
    again = weft_trace(tmp_path, [*site.start(2), str(program)])
    assert again.returncode == 2
    assert "is there already" in again.stderr
    library = json.loads((tmp_path / "run" / "weft.json").read_text())["library"]
    monkeypatch.setenv("OMPI_ALLOW_RUN_AS_ROOT", "1")
    monkeypatch.setenv("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1")
    starter, *rest = site.start(2)
    taken = tmp_path / "half" / "raw" / "rank-0000001.trace"
    taken.parent.mkdir(parents=True)
    taken.write_text("another's")
    nowhere = "no trace of this program: /dev/null/x/raw/rank-0000000.trace"
    whose = f"no trace of this program: {taken}: File exists"
    for folder, told in ((tmp_path / "job", ""), (Path("/dev/null/x"), nowhere), (tmp_path / "half", whose)):
        words = [starter, "-x", f"LD_PRELOAD={library}", "-x", f"WEFT_TRACE={folder}", *rest, str(program)]
        done = subprocess.run(words, capture_output=True, text=True, check=True)
        assert told in done.stderr
    assert [path.read_text() for path in taken.parent.iterdir()] == ["another's"]
    bring_in(TraceFolder.open(tmp_path / "job"))
    assert len(events_of(tmp_path / "job")) == len(events_of(tmp_path / "run"))


def test_an_application_without_mpi_has_no_trace(tmp_path: Path) -> None:
    done = weft_trace(tmp_path, [*Site("openmpi").start(1), "true"])
    assert done.returncode == 1
    assert "has no trace of any rank" in done.stderr


def test_several_nodes_have_clocks_that_were_measured(tmp_path: Path) -> None:
    """One host in two parts: each has its own line, and the residual of check rounds is told."""
    site = Site("openmpi")
    program = compiled(site, "c", tmp_path, HEAD + MANY.replace("30000", "200"))
    done = weft_trace(tmp_path, [*site.start(2), str(program)], WEFT_FAKE_RANKS_PER_NODE="1")
    assert done.returncode == 0, done.stderr
    headers = [read_header(path) for path in trace_files(tmp_path / "run" / "raw")]
    assert [header.node for header in headers] == [0, 1]
    assert all(State.SHARED_CLOCK not in header.state and State.CLOCK_CLOSED in header.state for header in headers)
    assert headers[0].line_ns == 0
    assert headers[1].uncertainty_ns > 0
    # both read one clock in truth: the line's error is what it says
    assert abs(headers[1].line_ns) <= headers[1].uncertainty_ns + headers[1].residual_ns + 1000


def test_quantum_espresso_gives_the_same_energies_under_the_tracer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A Fortran application that nobody here wrote: its all-to-alls are all there, and its output is unchanged."""
    if not Path("/usr/bin/pw.x").exists() or not PSEUDOPOTENTIALS.is_dir():
        pytest.skip("no pw.x: apt install quantum-espresso quantum-espresso-data")
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    monkeypatch.setenv("OMPI_ALLOW_RUN_AS_ROOT", "1")
    monkeypatch.setenv("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1")
    (tmp_path / "si.in").write_text(SILICON.format(pseudo=PSEUDOPOTENTIALS))
    command = [*Site("openmpi").start(4), "pw.x", "-in", "si.in"]
    traced = weft_trace(tmp_path, command)
    assert traced.returncode == 0, traced.stderr
    plain = subprocess.run(command, capture_output=True, text=True, check=True, cwd=tmp_path)
    kept = [[line for line in out.splitlines() if not CHANGING.search(line)] for out in (traced.stdout, plain.stdout)]
    assert any("!    total energy" in line for line in kept[0])
    assert kept[0] == kept[1]
    rows = events_of(tmp_path / "run")
    exchanges = Counter(row["rank"] for row in rows if row["call"].startswith("MPI_Alltoall"))
    assert min(exchanges[rank] for rank in range(4)) > 300
    assert not any(row["missing"] for row in TRACE_RANKS.read(tmp_path / "run"))
    cost = re.search(r"the tracer cost up to ([\d.]+) (ns|us)", traced.stderr)
    assert cost, traced.stderr
