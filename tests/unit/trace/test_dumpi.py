# SPDX-License-Identifier: BSD-3-Clause
"""Texts of DUMPI become traces: bytes, peers, communicators and ends as MPI has them, or one plain message."""

import os
from collections.abc import Callable
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from made.dumpi import rank_text, text_of, write_texts
from weft.errors import DataError, StudyError
from weft.store.trace.convert import count_files
from weft.store.trace.folder import TraceFolder
from weft.store.trace.tables import MEMBER_TABLE, TRACE_RANKS
from weft.trace.dumpi.communicators import Making, matched
from weft.trace.events import Event, each_event
from weft.trace.importing import import_trace
from weft.trace.script import make_script


def told(event: Event) -> tuple[object, ...]:
    return event.call, event.peer, event.tag, event.bytes, event.received


def test_a_rank_calls_what_its_text_says(tmp_path: Path) -> None:
    run = tmp_path / "run"
    lines = import_trace(write_texts(tmp_path / "texts"), run)
    events = [event for rank, event in each_event(TraceFolder(run)) if rank == 1]
    assert [told(event) for event in events] == [
        ("MPI_Comm_split", -1, 0, 0, 0), ("MPI_Irecv", -1, -1, 0, 240), ("MPI_Isend", 0, 4, 48, 0),
        ("MPI_Waitall", -1, 0, 0, 0), ("completion", 0, 4, 0, 48), ("completion", 0, 4, 48, 0),
        ("MPI_Bcast", 3, 0, 0, 24), ("MPI_Alltoallv", -1, 0, 160, 128),
    ]  # fmt: skip
    assert [event.begin_ns for event in events][:2] == [12_000_000_100, 14_000_000_100]
    counts = [row for file in count_files(TraceFolder(run)) for row in pq.read_table(file).to_pylist()]
    assert [row["bytes"] for row in counts if row["rank"] == 1] == [16, 32, 48, 64]
    members = MEMBER_TABLE.read(run)
    assert [row["rank"] for row in members] == [2, 0, 3, 1]  # descending keys
    assert len({row["comm"] for row in members}) == 2
    assert lines == ["calls that Weft's traces do not have: MPI_File_open (4)"]
    assert {row["missing"] for row in TRACE_RANKS.read(run)} == {""}
    made = make_script(TraceFolder(run), run / "replay.script")
    assert made.left_out == {"MPI_Comm_split": 4}


def test_a_text_without_an_end_is_a_partial_trace(tmp_path: Path) -> None:
    texts = write_texts(tmp_path / "texts")
    whole = rank_text(2)
    (texts / "dumpi-2013.09.26.20.17.59-0002.txt").write_text(whole[: whole.index("MPI_Bcast returning")])
    import_trace(texts, tmp_path / "run")
    missing = [row["missing"] for row in TRACE_RANKS.read(tmp_path / "run")]
    assert ["without MPI_Finalize" in each for each in missing] == [False, False, True, False]


def renamed(texts: Path) -> None:
    (texts / "dumpi-2013.09.26.20.17.59-0001.txt").rename(texts / "some.txt")


def removed(texts: Path) -> None:
    (texts / "dumpi-2013.09.26.20.17.59-0001.txt").unlink()


def unentered(texts: Path) -> None:
    (texts / "dumpi-2013.09.26.20.17.59-0001.txt").write_text(text_of("MPI_Barrier", 3) + "MPI_Send returning at "
        "walltime 4.000000000, cputime 0.000000000 seconds in thread 0.\n")  # fmt: skip


def binary(texts: Path) -> None:
    for path in list(texts.iterdir()):
        path.with_suffix(".bin").write_bytes(b"\xff\xaa\xddDUMPI" + path.read_bytes())
        path.unlink()


def dumpi2ascii(folder: Path, monkeypatch: pytest.MonkeyPatch, does: str = 'exec tail -c +9 "$3"') -> None:
    """Put a program of this name on PATH; by default it prints what stands behind the magic number."""
    program = folder / "dumpi2ascii"
    program.write_text(f'#!/bin/sh\ntest "$1 $2" = "-S -f" || exit 9\n{does}\n')
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(folder), prepend=os.pathsep)


def test_binary_files_are_read_by_dumpis_own_program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    texts = write_texts(tmp_path / "texts")
    lines = import_trace(texts, tmp_path / "of-texts")
    binary(texts)
    dumpi2ascii(tmp_path, monkeypatch)
    assert import_trace(texts, tmp_path / "of-binary") == lines
    of_texts, of_binary = (list(each_event(TraceFolder(tmp_path / name))) for name in ("of-texts", "of-binary"))
    assert of_texts == of_binary and len(of_texts) > 20


@pytest.mark.parametrize(
    ("does", "said"),
    [('tail -c +9 "$3" | head -c 2000; echo "no footer" >&2; exit 2', "exit code 2: no footer"),
     ("kill -ABRT $$", "exit code -6: it said nothing"),
     ('echo "MPI_Send returning at walltime 4.000000000, cputime 0.0 seconds in thread 0."; while :; do echo; done',
      "was not entered")],
)  # fmt: skip
def test_a_program_that_fails_gives_one_message_and_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, does: str, said: str
) -> None:
    binary(texts := write_texts(tmp_path / "texts"))
    dumpi2ascii(tmp_path, monkeypatch, does)
    with pytest.raises(DataError, match=said):
        import_trace(texts, tmp_path / "run")
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize(
    ("harm", "said"),
    [(renamed, "does not end with a rank"), (removed, "no file of rank 1"), (unentered, "was not entered"),
     (binary, "dumpi2ascii, is not installed")],
)  # fmt: skip
def test_what_is_no_trace_gives_one_message_and_leaves_nothing(
    tmp_path: Path, harm: Callable[[Path], None], said: str
) -> None:
    texts = write_texts(tmp_path / "texts")
    harm(texts)
    with pytest.raises(DataError, match=said):
        import_trace(texts, tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_a_folder_with_files_is_not_written_into(tmp_path: Path) -> None:
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "mine").touch()
    with pytest.raises(StudyError, match="is there already"):
        import_trace(write_texts(tmp_path / "texts"), tmp_path / "run")
    assert (tmp_path / "run" / "mine").exists()


def split(color: int, key: int, *, new: int = -5, old: int = 1) -> Making:
    return Making("MPI_Comm_split", old, new, True, color, key)


def test_a_handle_that_is_used_again_means_another_communicator() -> None:
    found = matched([[split(0, 0), split(rank, 0)] for rank in range(2)])
    assert [found.members[number] for number in sorted(found.members)[2:]] == [(0, 1), (0,), (1,)]
    assert found.made == [[3, 4], [3, 5]]


def test_what_others_never_made_is_not_known() -> None:
    found = matched([[split(0, 0), split(0, 0, old=-5, new=-6)], [split(0, 0)]])
    assert found.made == [[3, None], [3]]
    inner = [[split(0, 0), split(rank, 0, old=-5, new=-6)] for rank in range(2)]
    assert matched(inner).made == [[3, 4], [3, 5]]
