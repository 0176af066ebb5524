# SPDX-License-Identifier: BSD-3-Clause
"""Traces are read whole, and what is torn is said: never a crash, never a number that nobody wrote."""

import os
import shutil
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest

from made.traces import MadeRank
from weft.errors import DataError
from weft.store.trace.convert import convert_trace, rank_files
from weft.store.trace.folder import COMMUNICATORS, MEMBER_TABLE, SITES, TRACE_RANKS, TraceFolder, is_converted
from weft.store.trace.layout import HEADER_BYTES, RECORD_BYTES, WORLD, Flag, State
from weft.store.trace.reader import Definitions, RankTrace, read_header


def two_calls(rank: int = 0, ranks: int = 2, **header: object) -> MadeRank:
    """A send and a receive."""
    made = MadeRank(rank, ranks, **header)
    made.call("MPI_Send", 100, 150, peer=1 - rank, tag=7, bytes=4096, site=3)
    return made.call("MPI_Recv", 200, 400, peer=1 - rank, tag=8, received=10)


def count_of(trace: RankTrace, at_once: int = 1000) -> int:
    return sum(len(records) for records in trace.records(at_once))


def test_every_field_of_a_record_comes_back(tmp_path: Path) -> None:
    path = two_calls(node=5, host=b"n7", residual_ns=12).write(tmp_path)
    trace = RankTrace.open(path)
    (records,) = list(trace.records())
    assert records["begin_ns"].tolist() == [100, 200]
    assert records["end_ns"].tolist() == [150, 400]
    assert (records[0]["peer"], records[0]["tag"], records[0]["bytes"], records[0]["site"]) == (1, 7, 4096, 3)
    assert (trace.header.node, trace.header.host, trace.header.residual_ns) == (5, "n7", 12)
    assert trace.missing() == ""


@pytest.mark.parametrize("lost", [1, 63])
def test_a_cut_file_gives_its_whole_records_and_says_so(tmp_path: Path, lost: int) -> None:
    path = two_calls().write(tmp_path)
    path.write_bytes(path.read_bytes()[:-lost])
    trace = RankTrace.open(path)
    assert count_of(trace) == 1
    assert "no whole record" in trace.missing()


def test_room_that_was_never_written_is_no_record_and_an_open_end_is_said(tmp_path: Path) -> None:
    path = two_calls(state=int(State.SHARED_CLOCK)).write(tmp_path)
    raw = path.read_bytes()
    # a killed rank leaves empty records, also between others where threads were writing
    path.write_bytes(raw[: HEADER_BYTES + RECORD_BYTES] + bytes(3 * RECORD_BYTES) + raw[-RECORD_BYTES:] + bytes(640))
    trace = RankTrace.open(path)
    assert count_of(trace, 2) == 2
    assert trace.wrong_records == 0
    assert "without MPI_Finalize" in trace.missing()


@pytest.mark.parametrize(
    "wrong", [{"peer": 2}, {"peer": -9}, {"bytes": -1}, {"received": -5}, {"end_ns": 0}, {"call": 31}, {"call": 60000}]
)
def test_a_record_that_cannot_be_is_left_out_and_counted(tmp_path: Path, wrong: dict[str, int]) -> None:
    made = two_calls()
    record = np.frombuffer(made.records[0], "V64").copy()
    fields = record.view(RankTrace.open(made.write(tmp_path)).records().__next__().dtype)
    for name, value in wrong.items():
        fields[name] = value
    made.records[0] = record.tobytes()
    trace = RankTrace.open(made.write(tmp_path))
    assert count_of(trace) == 1
    assert "1 damaged record left out" in trace.missing()


def test_a_damaged_record_is_counted_once_however_often_the_file_is_read(tmp_path: Path) -> None:
    """Converting reads it again for the counts of vector calls, and told two damaged records."""
    made = MadeRank(0, 1).call("MPI_Alltoallv", 0, 1, bytes=8).counts([8]).call("MPI_Send", 9, 3, peer=0)
    made.write(tmp_path / "raw")
    convert_trace(TraceFolder(tmp_path))
    (row,) = TRACE_RANKS.read(tmp_path)
    assert row["missing"] == "rank 0: 1 damaged record left out"


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda raw: raw[:100], "not a trace"),
        (lambda raw: b"ELF" + raw[3:], "not a trace"),
        (lambda raw: raw[:8] + b"\x02" + raw[9:], "version 2"),
        (lambda raw: raw[:24] + b"\xff\xff\xff\xff" + raw[28:], "rank -1"),
        (lambda raw: raw[:72] + b"\xff" * 8 + raw[80:], "drift of nan"),
    ],
)
def test_another_file_is_refused_with_the_reason(tmp_path: Path, change, words: str) -> None:
    path = two_calls().write(tmp_path)
    path.write_bytes(change(path.read_bytes()))
    with pytest.raises(DataError, match=words):
        read_header(path)


def test_any_bytes_after_a_good_head_are_read_without_a_crash(tmp_path: Path) -> None:
    random = np.random.default_rng(5)
    made = two_calls()
    head = made.head.tobytes()  # without a checksum, as of a Weft that wrote none
    path = made.write(tmp_path / "raw")
    for _ in range(20):
        path.write_bytes(head + random.bytes(6400) + bytes([1, 0, 0, 0]) * 160)
        convert_trace(TraceFolder(tmp_path))


def test_times_become_those_of_rank_0(tmp_path: Path) -> None:
    for rank, header in ((0, {}), (1, {"line_local_ns": 100, "line_ns": 1000, "line_drift": 0.5})):
        two_calls(rank, 2, **header).write(tmp_path / "raw")
    convert_trace(TraceFolder(tmp_path))
    rows = pq.read_table(rank_files(TraceFolder(tmp_path).events)[0]).to_pylist()
    assert [(row["rank"], row["begin_ns"], row["end_ns"]) for row in rows] == [
        (0, 100, 150), (0, 200, 400), (1, 1100, 1175), (1, 1250, 1550),
    ]  # fmt: skip


def test_communicators_of_all_ranks_become_one_and_sites_are_merged_by_their_text(tmp_path: Path) -> None:
    for rank in range(3):
        made = MadeRank(rank, 3)
        number = 3 + rank  # each rank numbers its own
        if rank != 1:
            made.communicator(number, uid=2**63 + 5, members=[2, 0])
            made.site(9 - rank, "solve+0x12 (a rather long path of a program that needs two records).x")
            made.call("MPI_Barrier", 10, 20, comm=number, site=9 - rank)
        made.call("MPI_Barrier", 30, 40, comm=WORLD)
        made.write(tmp_path / "raw")
    convert_trace(TraceFolder(tmp_path))
    rows = pq.read_table(rank_files(TraceFolder(tmp_path).events)[0]).to_pylist()
    assert [(row["rank"], row["comm"], row["site"]) for row in rows] == [
        (0, 2, 1), (0, 0, 0), (1, 0, 0), (2, 2, 1), (2, 0, 0),
    ]  # fmt: skip
    assert [row["size"] for row in COMMUNICATORS.read(tmp_path)] == [3, 1, 2]
    assert [(row["member"], row["rank"]) for row in MEMBER_TABLE.read(tmp_path)] == [(0, 2), (1, 0)]
    assert [row["text"][:10] for row in SITES.read(tmp_path)] == ["", "solve+0x12"]


def test_counts_belong_to_their_call_and_name_world_ranks_also_across_pieces(tmp_path: Path) -> None:
    made = MadeRank(0, 9).communicator(4, uid=77, members=[8, 7, 6, 5, 4, 3, 2, 0])
    made.call("MPI_Barrier", 1, 2)
    made.call("MPI_Alltoallv", 3, 4, comm=4, bytes=36).counts([1, 2, 3, 4, 5, 6, 0, 8], comm=4)
    made.call("MPI_Alltoallv", 5, 6).counts([0] * 8 + [99])
    made.write(tmp_path / "raw")
    convert_trace(TraceFolder(tmp_path))
    rows = pq.read_table(rank_files(TraceFolder(tmp_path).counts)[0]).to_pylist()
    assert [(row["event"], row["peer"], row["bytes"]) for row in rows] == [
        (1, 8, 1), (1, 7, 2), (1, 6, 3), (1, 5, 4), (1, 4, 5), (1, 3, 6), (1, 0, 8), (2, 8, 99),
    ]  # fmt: skip


def test_a_summary_counts_its_calls_and_their_time(tmp_path: Path) -> None:
    made = MadeRank(0, 1, state=int(State.CLOSED | State.LIMITED))
    spent = 5_000_000_123
    made.call("MPI_Send", 10, 20, flags=Flag.SUMMARY, request=40, bytes=400, peer=0, tag=spent & 0xFFFFFFFF, thread=1)
    record = np.frombuffer(made.records[0], "<u4").copy()
    record[14:16] = spent & 0xFFFFFFFF, spent >> 32
    made.records[0] = record.tobytes()
    made.write(tmp_path / "raw")
    convert_trace(TraceFolder(tmp_path))
    (row,) = pq.read_table(rank_files(TraceFolder(tmp_path).events)[0]).to_pylist()
    assert (row["calls"], row["seconds_ns"], row["request"], row["tag"]) == (40, spent, 0, 0)
    assert TRACE_RANKS.read(tmp_path)[0]["summarised"] == 40


def test_folders_without_traces_or_of_two_jobs_are_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="has no trace of any rank"):
        convert_trace(TraceFolder(tmp_path))
    two_calls(0, 2).write(tmp_path / "raw")
    MadeRank(1, 3).write(tmp_path / "raw")
    with pytest.raises(DataError, match="mixes several jobs"):
        convert_trace(TraceFolder(tmp_path))


def test_a_trace_is_converted_again_only_if_a_rank_has_written_since(tmp_path: Path) -> None:
    path = MadeRank(0, 2, state=0).call("MPI_Send", 1, 2, peer=1).write(tmp_path / "raw")
    folder = TraceFolder(tmp_path)
    assert not is_converted(folder)
    convert_trace(folder)
    assert is_converted(folder)
    os.utime(path, ns=(2**62, 2**62))
    assert is_converted(folder)
    path.write_bytes(path.read_bytes() + path.read_bytes()[-RECORD_BYTES:])
    os.utime(path, ns=(1, 1))
    assert not is_converted(folder)
    convert_trace(folder)
    two_calls(1, 2).write(folder.raw)
    assert not is_converted(folder)


def test_older_files_in_the_place_of_those_that_were_converted_are_refused(tmp_path: Path) -> None:
    """Tables of other files were printed, with exit code 0: times alone were compared."""
    folder, old = TraceFolder(tmp_path / "trace"), TraceFolder(tmp_path / "old")
    path = two_calls(0, 2).write(folder.raw)
    convert_trace(folder)
    other = MadeRank(0, 2).call("MPI_Send", 100, 900, peer=1, bytes=4).write(old.raw)
    os.utime(other, ns=(1, 1))
    shutil.copy2(other, path)
    with pytest.raises(DataError, match="was changed since") as caught:
        is_converted(folder)
    assert f"rm -r {folder.events}" in caught.value.remedy


def test_damaged_events_are_made_again_where_the_ranks_files_are_there(tmp_path: Path) -> None:
    folder = TraceFolder(tmp_path)
    path = two_calls(0, 2).write(folder.raw)
    convert_trace(folder)
    (events,) = rank_files(folder.events)
    whole = events.read_bytes()
    events.write_bytes(whole[:-9] + b"x" + whole[-8:])
    assert not is_converted(folder)
    path.unlink()
    with pytest.raises(DataError, match="is damaged"):
        is_converted(folder)
    events.write_bytes(whole)
    assert is_converted(folder)


def test_a_definition_that_two_pieces_share_is_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = MadeRank(0, 40)
    made.communicator(3, uid=5, members=list(range(30))).site(1, "x" * 100)
    made.call("MPI_Barrier", 1, 2, comm=3, site=1).write(tmp_path / "raw")
    read = RankTrace.records
    for at_once in range(1, 8):
        monkeypatch.setattr(RankTrace, "records", lambda trace, each=at_once: read(trace, each))
        convert_trace(TraceFolder(tmp_path))
        assert [row["rank"] for row in MEMBER_TABLE.read(tmp_path)] == list(range(30))
        assert [row["text"] for row in SITES.read(tmp_path)] == ["", "x" * 100]


def test_definitions_of_a_torn_trace_leave_gaps_instead_of_guesses(tmp_path: Path) -> None:
    made = MadeRank(0, 40).communicator(3, uid=5, members=list(range(30)))
    del made.records[2]  # members 12 to 23
    trace = RankTrace.open(made.write(tmp_path))
    own = Definitions.of(trace.header)
    for records in trace.records():
        own.read(records, 40)
    members = own.communicators[3].world_ranks().tolist()
    assert members[11:13] == [11, -1]
    assert members[24:] == list(range(24, 30))


def test_a_file_cut_at_any_byte_gives_its_whole_records_or_one_message(tmp_path: Path) -> None:
    """As a rank leaves it that was killed while it wrote, and as a full disk or a lost node leaves it."""
    made = MadeRank(0, 2)
    for number in range(200):
        made.call("MPI_Send", 10 * number, 10 * number + 5, peer=1, bytes=number)
    whole = made.write(tmp_path / "whole").read_bytes()
    edges = [*range(0, len(whole), 4096), *(edge + odd for edge in range(0, len(whole), 4096) for odd in (-1, 1, 13))]
    folder = TraceFolder(tmp_path / "cut")
    MadeRank(1, 2).call("MPI_Recv", 1, 2, peer=0).write(folder.raw)
    for size in sorted({edge for edge in edges if 0 <= edge <= len(whole)} | set(range(505, 580, 7))):
        cut = folder.raw / "rank-0000000.trace"
        cut.write_bytes(whole[:size])
        if size < HEADER_BYTES:
            with pytest.raises(DataError, match="not a trace"):
                convert_trace(folder)
            continue
        convert_trace(folder)
        records, rest = divmod(size - HEADER_BYTES, RECORD_BYTES)
        row = TRACE_RANKS.read(folder.path)[0]
        assert row["events"] == records
        assert ("no whole record" in row["missing"]) == (rest > 0)
