# SPDX-License-Identifier: BSD-3-Clause
"""``weft trace show`` says what the tables say: headline, tables, page, JSON, and the export for Perfetto."""

import json
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest

from made.traces import MadeRank
from weft.analyse.tables.claims import claims_of, extras
from weft.analyse.tables.traces import ACTIVITY, MATRIX, ActivityRow
from weft.analyse.trace.make import make_trace_tables
from weft.analyse.trace.timeline import timeline
from weft.cli.app import main
from weft.report.traces import (
    Floats,
    TraceView,
    as_json,
    load_trace,
    matrix_pictures,
    percent,
    trace_tables,
    write_trace_page,
)
from weft.store.trace.convert import convert_trace
from weft.store.trace.folder import TraceFolder
from weft.store.trace.layout import Flag, State
from weft.trace.export import write_perfetto
from weft.trace.take import describe_trace

MS = 1_000_000
EVIL = "<script>alert(1)</script>\x1b[31m"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> TraceFolder:
    """Two ranks on two nodes: rank 1 computes for 60 of 100 ms, and rank 0 waits for it; rank 1's end is missing."""
    found = TraceFolder(tmp_path_factory.mktemp("trace"))
    for rank, begin in ((0, 20), (1, 60)):
        state = State.CLOSED | State.SHARED_CLOCK if rank == 0 else State.SHARED_CLOCK
        made = MadeRank(rank, 2, node=rank, host=EVIL.encode() if rank else b"n0", state=int(state))
        made.site(1, f"{EVIL}+0x2").call("MPI_Comm_dup", 0, 0)
        made.call("MPI_Alltoall", begin * MS, 80 * MS, bytes=2 << 20, received=2 << 20, site=1)
        for step in range(4):
            made.call("MPI_Send", (80 + 5 * step) * MS, (85 + 5 * step) * MS, peer=1 - rank, bytes=3 << 20)
        made.call("MPI_Iprobe", 100 * MS, 100 * MS, flags=Flag.UNFINISHED, request=7)
        made.write(found.raw)
    convert_trace(found)
    make_trace_tables(found)
    return found


@pytest.fixture(scope="module")
def view(folder: TraceFolder) -> TraceView:
    return load_trace(folder)


def test_a_trace_that_its_records_doubt_keeps_its_share_and_claims_no_remedy(view: TraceView) -> None:
    (answer,) = claims_of(view.claims, "answer")
    assert (answer["id"], answer["confidence"]) == ("trace.inconclusive", "C")
    assert answer["value"] == pytest.approx(0.4)
    assert extras(answer)["what"] == "computing"
    assert [each["id"] for each in view.claims if each["kind"] != "answer"] == ["trace.partial", "trace.unmeasured"]
    assert [row.id for row in view.card.rows] == ["trace.inconclusive", "trace.partial", "next"]


def test_a_sound_trace_claims_where_time_goes_what_limits_it_and_a_remedy(tmp_path: Path) -> None:
    """Rank 1 computes for 60 of 100 ms, rank 0 for 20 and waits for it for 40."""
    folder = TraceFolder(tmp_path)
    for rank, begin in ((0, 20), (1, 60)):
        made = MadeRank(rank, 2, node=rank).call("MPI_Comm_dup", 0, 0)
        made.call("MPI_Alltoall", begin * MS, 100 * MS, bytes=8, received=8).write(folder.raw)
    convert_trace(folder)
    make_trace_tables(folder)
    found = load_trace(folder)
    assert [row.id for row in found.card.rows] == [
        "trace.computing", "bottleneck.computing", "share.moving", "share.waiting", "remedy.network", "confidence"
    ]  # fmt: skip
    limit = next(each for each in found.claims if each["id"] == "bottleneck.computing")
    assert (limit["bound"], extras(limit)["seconds"]) == (pytest.approx(0.06), pytest.approx(0.1))
    assert claims_of(found.claims, "remedy")[0]["value"] == pytest.approx(0.4)
    drawn = found.draw_activity()
    assert drawn and drawn.svg.count("rank ") == 2
    activity = ACTIVITY.read(tmp_path)
    whole = {what: sum(row[what] for row in activity) / len(activity) for what in ("waiting", "moving", "computing")}
    assert whole == pytest.approx({"waiting": 0.2, "moving": 0.4, "computing": 0.4}, abs=1e-6)


def test_lanes_show_each_stretch_where_it_was(tmp_path: Path) -> None:
    """Rank 0 waits from 20 to 60 ms and moves data until 100; files count apart, and a rank's end is no computing."""
    folder = TraceFolder(tmp_path)
    for rank, begin in ((0, 20), (1, 60)):
        made = MadeRank(rank, 2, node=rank).call("MPI_Comm_dup", 0, 0)
        made.call("MPI_Alltoall", begin * MS, 100 * MS, bytes=8, received=8)
        made.call("MPI_File_write", 100 * MS, (150 + 50 * rank) * MS, bytes=8).write(folder.raw)
    convert_trace(folder)
    make_trace_tables(folder)
    lanes: dict[int, list[ActivityRow]] = {}
    for row in ACTIVITY.read(tmp_path):
        lanes.setdefault(row["rank"], []).append(row)

    def at(rank: int, seconds: float) -> ActivityRow:
        return next(row for row in lanes[rank] if row["begin_s"] <= seconds < row["end_s"])

    for rank, seconds, what in (
        (0, 0.01, "computing"), (0, 0.04, "waiting"), (0, 0.08, "moving"), (0, 0.12, "file"),
        (1, 0.04, "computing"), (1, 0.08, "moving"), (1, 0.18, "file"),
    ):  # fmt: skip
        assert at(rank, seconds)[what] == pytest.approx(1), (rank, seconds)
    assert sum(at(0, 0.18)[what] for what in ("waiting", "moving", "file", "unknown", "computing")) == 0


def test_each_table_tells_its_numbers(view: TraceView) -> None:
    tables = {table.title.partition(",")[0]: table.rows for table in trace_tables(view)}
    assert tables["Time by call"][0] == (
        "MPI_Alltoall", "2", "80 ms", "40 %", "40 ms", "40 ms", "0 %", "4 MiB", "60 ms"
    )  # fmt: skip
    assert ("MPI_Iprobe", "14") in [row[:2] for row in tables["Time by call"]]
    assert ("MPI_Send", "up to 4 MiB", "8", "40 ms", "24 MiB") in tables["Time by size"]
    assert [row[0] for row in tables["Time by communicator"]] == ["MPI_COMM_WORLD"]
    (late,) = tables["Who came late"]
    assert (late[0], late[2], late[3], late[4]) == ("1", "40 ms", "1", "100 %")
    assert tables["Confidence"][0][0] == "C"
    assert tables["Repeating phases of rank 0"][0][:2] == ("4", "1")


def test_the_matrix_is_by_rank_and_by_node(view: TraceView) -> None:
    assert view.matrix("bytes").tolist() == [[1 << 20, 13 << 20], [13 << 20, 1 << 20]]
    assert view.matrix("messages").tolist() == [[1, 5], [5, 1]]
    first, second = matrix_pictures(view)
    assert first.reading == "2 pairs of ranks sent most, 13 MiB each; the first is rank 0 to rank 1."
    assert "5 messages" in second.reading


@pytest.mark.parametrize(
    ("sent", "told"),
    [([[0, 2], [3, 0]], "Rank 1 sent most to rank 0: 3 messages."),
     ([[9, 2], [2, 0]], "Rank 0 sent most to rank 0: 9 messages."),
     ([[0, 3], [3, 0]], "Each rank sent the same to every other: 3 messages."),
     ([[3, 0], [3, 0]], "2 pairs of ranks sent most, 3 messages each; the first is rank 0 to rank 0."),
     ([[0, 0], [0, 0]], "Nothing was sent.")],
)  # fmt: skip
def test_nobody_is_singled_out_of_those_who_sent_the_same(
    view: TraceView, monkeypatch: pytest.MonkeyPatch, sent: list[list[int]], told: str
) -> None:
    def matrix(_: TraceView, __: str) -> Floats:
        return np.array(sent, float)

    monkeypatch.setattr(TraceView, "matrix", matrix)
    assert matrix_pictures(view)[1].reading == told


def test_the_page_and_the_terminal_show_names_of_others_as_plain_text(
    view: TraceView, folder: TraceFolder, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_trace_page(view, tmp_path / "page.html", describe_trace(folder))
    page = (tmp_path / "page.html").read_text()
    assert "<script>alert(1)" not in page
    assert "this trace is partial" in page
    assert main(["trace", "show", str(folder.path)]) == 0
    out = capsys.readouterr().out
    assert "\x1b" not in out
    assert "rank 1: it ended without MPI_Finalize" in out


def test_json_has_the_rows_unrounded(view: TraceView) -> None:
    tree = json.loads(as_json(view))
    assert tree["schema"] == "weft-trace-show/2"
    assert tree["calls"][0]["seconds"] == pytest.approx(0.08)
    assert len(tree["partial"]) == 1


def test_perfetto_gets_every_call_with_its_time_in_us(folder: TraceFolder, tmp_path: Path) -> None:
    assert write_perfetto(folder, tmp_path / "out.json") == 14
    events = json.loads((tmp_path / "out.json").read_text())["traceEvents"]
    calls = [event for event in events if event["ph"] == "X"]
    assert len(calls) == 14
    (exchange,) = [event for event in calls if event["name"] == "MPI_Alltoall" and event["pid"] == 1]
    assert (exchange["ts"], exchange["dur"]) == (60_000, 20_000)
    assert exchange["args"]["bytes"] == 2 << 20
    assert {event["pid"] for event in events if event["ph"] == "M"} == {0, 1}


def test_a_rank_that_recorded_nothing_does_not_move_the_beginning(tmp_path: Path) -> None:
    """It was killed right behind MPI_Init; its beginning was taken for 0, hours before that of the others."""
    found = TraceFolder(tmp_path / "run")
    MadeRank(0, 2).call("MPI_Comm_dup", 3_600_000 * MS, 3_600_001 * MS).write(found.raw)
    MadeRank(1, 2).write(found.raw)
    convert_trace(found)
    make_trace_tables(found)
    write_perfetto(found, tmp_path / "out.json")
    calls = [event for event in json.loads((tmp_path / "out.json").read_text())["traceEvents"] if event["ph"] == "X"]
    assert [call["ts"] for call in calls] == [0]
    assert timeline(found, None, None, columns=1).end_s == pytest.approx(1e-3)


def test_shares_keep_a_decimal_where_it_counts() -> None:
    assert [percent(share) for share in (0.004, 0.0994, 0.0996, 0.5, 1.0)] == [
        "0.4 %",
        "9.9 %",
        "10 %",
        "50 %",
        "100 %",
    ]


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        (["trace"], 2, "weft trace has no command"),
        (["trace", "--most", "7 apples", "--", "true"], 2, "--most 7 apples"),
        (["trace", "--most", "1GB", "--", "true"], 2, "--most 1GB"),
        (["trace", "show", "/nowhere/at/all"], 2, "does not exist"),
    ],
)
def test_mistakes_are_told(words: list[str], code: int, message: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(words) == code
    assert message in capsys.readouterr().err


def test_a_run_of_a_study_is_no_trace(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "weft.json").write_text('{"schema": "weft-run/2"}')
    assert main(["trace", "show", str(tmp_path)]) == 2
    assert "weft show" in capsys.readouterr().err


def test_ranks_without_a_trace_leave_gaps(tmp_path: Path) -> None:
    """Of three ranks one wrote nothing: what was sent to it is counted, and nothing is drawn out of place."""
    folder = TraceFolder(tmp_path)
    for rank in (0, 2):
        MadeRank(rank, 3).call("MPI_Send", 0, 5, peer=1, bytes=8).write(folder.raw)
    convert_trace(folder)
    make_trace_tables(folder)
    found = load_trace(folder)
    assert [(row["rank"], row["peer"], row["bytes"]) for row in MATRIX.read(tmp_path)] == [(0, 1, 8), (2, 1, 8)]
    assert found.matrix("bytes").tolist() == [[0, 0], [0, 0]]
    assert [len(each.svg) > 0 for each in matrix_pictures(found)] == [True, True]


def test_a_trace_that_says_to_be_one_of_millions_of_ranks_is_drawn_as_the_one_that_it_is(tmp_path: Path) -> None:
    """A matrix of all its ranks was asked of the memory: 2 PiB, and a traceback."""
    MadeRank(2**24 - 1, 2**24).call("MPI_Send", 0, 5, peer=2**24 - 1, bytes=8).write(tmp_path / "raw")
    assert main(["trace", "show", str(tmp_path), "-o", str(tmp_path / "page.html")]) == 0
    assert load_trace(TraceFolder(tmp_path)).matrix("bytes").tolist() == [[8]]


def test_the_matrix_alone_is_a_drawing(folder: TraceFolder, tmp_path: Path) -> None:
    assert main(["trace", "show", str(folder.path), "-o", str(tmp_path / "matrix.svg")]) == 0
    (drawn,) = [each.svg for each in matrix_pictures(load_trace(folder)) if each.name == "trace-bytes"]
    assert (tmp_path / "matrix.svg").read_text() == drawn
    assert "nothing sent" in drawn
    assert "not measured" not in drawn
    assert ElementTree.parse(tmp_path / "matrix.svg").getroot().tag.endswith("svg")
