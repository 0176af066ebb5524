# SPDX-License-Identifier: BSD-3-Clause
"""A disk that is full while an application is traced, or while its trace is brought in and shown."""

from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import pytest
from disks import fill, mounted
from interposed import Site
from traced import compiled, events_of, weft_trace

from made.traces import MadeRank
from weft.cli.app import main
from weft.store.trace.folder import TRACE_RANKS, TraceFolder
from weft.trace.take import bring_in

SENDING = """
#include <mpi.h>
#include <stdio.h>
int main(int argc, char **argv) {
    int x = 1;
    MPI_Init(&argc, &argv);
    for (int i = 0; i < 300000; ++i) MPI_Send(&x, 1, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_WORLD);
    puts("all right");
    return MPI_Finalize();
}
"""


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 16 MiB: three windows of a rank's file, and room for its Parquet."""
    yield from mounted(tmp_path / "disk", "16m")


def test_on_a_full_disk_an_application_runs_on_and_what_was_recorded_is_read_and_told_to_be_partial(
    disk: Path, tmp_path: Path
) -> None:
    site = Site("openmpi")
    program = compiled(site, "c", tmp_path, SENDING)
    done = weft_trace(tmp_path, [*site.start(1), str(program)], name="disk/run")
    assert done.returncode == 0, done.stderr
    assert "all right" in done.stdout
    assert "this trace is partial: 1 rank of 1" in done.stderr
    assert "the disk was full: what followed is missing" in done.stderr
    rows = events_of(disk / "run")
    assert 2 * 65536 < len(rows) < 300000
    assert {row["call"] for row in rows} == {"MPI_Send"}
    assert all(one["end_ns"] <= two["begin_ns"] for one, two in pairwise(rows))


def test_a_disk_that_is_full_while_a_trace_is_shown_is_one_message_and_the_same_command_goes_on(
    disk: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """It was told as files that do not fit together, with the advice to remove them."""
    folder = TraceFolder(disk / "run")
    for rank in range(2):
        made = MadeRank(rank, 2)
        for turn in range(20_000):
            made.call("MPI_Sendrecv", turn**2, turn**2 + turn % 7, peer=1 - rank, bytes=turn)
        made.write(folder.raw)
    for step in ("brought in", "shown"):
        fill(disk / "filling")
        assert main(["trace", "show", str(folder.path)]) == 1
        told = capsys.readouterr().err
        assert told.count("error:") == 1, step
        assert "the disk is full" in told, step
        assert "rm -r" not in told, step
        assert not [*folder.path.rglob("*.part"), *folder.path.rglob(".analysis-*/*")], step
        (disk / "filling").unlink()
        bring_in(folder)
    assert main(["trace", "show", str(folder.path)]) == 0
    assert [row["missing"] for row in TRACE_RANKS.read(folder.path)] == ["", ""]
