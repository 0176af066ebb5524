# SPDX-License-Identifier: BSD-3-Clause
"""A trace goes to OTF2 and comes back; archives that are torn or none give one message."""

import sys
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from made.traces import MadeRank
from weft.errors import DataError, StudyError
from weft.store.trace.convert import convert_trace, rank_files
from weft.store.trace.folder import MEMBER_TABLE, TRACE_RANKS, TraceFolder
from weft.trace.bring import import_trace
from weft.trace.events import each_event
from weft.trace.export import write_otf2

HALF = 5
KEPT = ("call", "peer", "tag", "bytes", "received", "request", "thread")


def made(folder: Path) -> TraceFolder:
    """Two ranks by every way of sending, collectives on a communicator of descending ranks, a second thread."""
    for rank in range(2):
        other = 1 - rank
        one = MadeRank(rank, 2, host=f"n{rank}".encode()).communicator(HALF, 77, [1, 0])
        one.call("MPI_Irecv", 10, 20, comm=0, request=1, flags=32)
        one.call("MPI_Isend", 20, 30, peer=other, tag=7, bytes=64, request=2)
        one.call("MPI_Waitall", 30, 90, comm=0)
        one.call("completion", 30, 90, peer=other, tag=7, received=64, request=1, flags=32)
        one.call("completion", 30, 90, peer=other, tag=7, bytes=64, request=2)
        one.call("MPI_Sendrecv", 100, 110, peer=other, tag=1, bytes=8)
        one.call("completion", 100, 110, peer=other, tag=1, received=8, flags=32)
        one.call("MPI_Allreduce", 120, 150, comm=HALF, bytes=8, received=8)
        one.call("MPI_Bcast", 150, 160, comm=HALF, peer=1, **{"bytes" if rank else "received": 24})
        one.call("MPI_Ialltoall", 160, 170, bytes=8, received=8, request=3)
        one.call("MPI_Wait", 180, 190, comm=0)
        one.call("completion", 180, 190, bytes=8, received=8, request=3)
        one.call("MPI_Start", 200, 200, peer=other, tag=2, bytes=5, request=4)
        one.call("MPI_Start", 200, 200, comm=0, request=5, flags=32)
        one.call("MPI_Startall", 200, 210, comm=0)
        one.call("MPI_Waitall", 210, 220, comm=0)
        one.call("completion", 210, 220, peer=other, tag=2, bytes=5, request=4)
        one.call("completion", 210, 220, peer=other, tag=2, received=5, request=5, flags=32)
        one.call("MPI_Alltoallv", 230, 240, bytes=9, received=9).counts([0, 9])
        one.call("MPI_Barrier", 245, 250, comm=HALF, thread=1)
        if rank == 0:
            one.call("MPI_Send", 250, 260, peer=1, tag=9, bytes=3)
        else:
            one.call("MPI_Recv", 250, 270, peer=0, tag=9, received=3)
        one.write(folder / "raw")
    trace = TraceFolder(folder)
    trace.describe()
    convert_trace(trace)
    return trace


def rows(folder: TraceFolder) -> list[tuple[object, ...]]:
    events = list(each_event(folder))
    first = min(event.begin_ns for _, event in events)
    return [
        (rank, event.begin_ns - first, event.end_ns - first, *(getattr(event, name) for name in KEPT))
        for rank, event in events
    ]


def test_a_trace_goes_to_otf2_and_comes_back(tmp_path: Path) -> None:
    before = made(tmp_path / "before")
    assert write_otf2(before, tmp_path / "archive") == 2 * 15
    lines = import_trace(tmp_path / "archive", tmp_path / "after")
    after = TraceFolder(tmp_path / "after")
    assert rows(after) == rows(before)
    assert [event.comm for _, event in each_event(after)] == [event.comm for _, event in each_event(before)]
    assert [(row["comm"], row["rank"]) for row in MEMBER_TABLE.read(after.path)] == [(2, 1), (2, 0)]
    assert [row["host"] for row in TRACE_RANKS.read(after.path)] == ["n0", "n1"]
    assert lines == ["bytes to each member are taken as equal in 2 all-to-alls: OTF2 has their sums only"]
    counts = [row["bytes"] for file in rank_files(after.counts) for row in pq.read_table(file).to_pylist()]
    assert counts == [5, 4, 5, 4]


def test_an_archive_that_is_torn_anywhere_gives_one_message_or_what_is_whole(tmp_path: Path) -> None:
    write_otf2(made(tmp_path / "before"), tmp_path / "archive")
    files = sorted(path for path in (tmp_path / "archive").rglob("*") if path.is_file())
    outcomes: set[str] = set()
    for path in files:
        whole = path.read_bytes()
        for torn in (b"", whole[: len(whole) // 2], whole[:-1], b"\xff" * len(whole)):
            path.write_bytes(torn)
            try:
                import_trace(tmp_path / "archive", tmp_path / "after")
            except DataError as error:
                outcomes.add("refused")
                assert "\n" not in error.what
                assert not (tmp_path / "after").exists()
            else:
                outcomes.add("read")
                for left in sorted((tmp_path / "after").rglob("*"), reverse=True):
                    left.unlink() if left.is_file() else left.rmdir()
        path.write_bytes(whole)
    assert outcomes == {"refused", "read"}


def test_without_the_package_it_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = made(tmp_path / "before")
    monkeypatch.setitem(sys.modules, "otf2", None)
    with pytest.raises(DataError, match="Python package otf2") as caught:
        write_otf2(before, tmp_path / "archive")
    assert caught.value.remedy.endswith("pip install 'otf2>=3.1'")


def test_a_folder_with_files_is_not_written_over(tmp_path: Path) -> None:
    with pytest.raises(StudyError, match="is there already"):
        write_otf2(made(tmp_path / "before"), tmp_path / "before")
    assert (tmp_path / "before" / "raw").exists()
