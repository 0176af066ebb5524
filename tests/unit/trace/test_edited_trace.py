# SPDX-License-Identifier: BSD-3-Clause
"""A trace from somebody else is data: files that do not fit together end in one message, and its remedy works."""

import shutil
from collections.abc import Callable
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from made.traces import MadeRank
from weft.analyse.trace.make import make_trace_tables
from weft.cli.app import main
from weft.errors import DataError
from weft.store.trace.folder import TraceFolder, stamp_of_raw, write_stamp
from weft.trace.events import traffic_of_trace
from weft.trace.take import bring_in


@pytest.fixture(scope="module")
def original(tmp_path_factory: pytest.TempPathFactory) -> TraceFolder:
    """Two ranks that send to each other, with all that is made of it."""
    folder = TraceFolder(tmp_path_factory.mktemp("trace"))
    for rank in range(2):
        MadeRank(rank, 2).site(1, "f+0x2").call("MPI_Send", 0, 1000, peer=1 - rank, bytes=64).write(folder.raw)
    bring_in(folder)
    make_trace_tables(folder)
    return folder


def swapped(folder: TraceFolder) -> None:
    """One table in the place of another."""
    shutil.copyfile(folder.tables / "trace_sites.parquet", folder.tables / "trace_verdict.parquet")
    shutil.copyfile(folder.tables / "trace_calls.parquet", next(folder.events.glob("*.parquet")))


def without_events(folder: TraceFolder) -> None:
    """The events are gone, and a table."""
    next(folder.events.glob("*.parquet")).unlink()
    (folder.tables / "trace_verdict.parquet").unlink()


def without_a_column(folder: TraceFolder) -> None:
    """A table of calls without their sites."""
    path = folder.tables / "trace_sites.parquet"
    pq.write_table(pq.read_table(path).drop_columns(["text"]), path)
    (folder.tables / "trace_verdict.parquet").unlink()


@pytest.mark.parametrize("spoil", [swapped, without_events, without_a_column])
def test_files_that_do_not_fit_together_are_made_anew_or_one_message(
    original: TraceFolder,
    spoil: Callable[[TraceFolder], None],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """DuckDB's own error, or a KeyError, came with a traceback."""
    folder = TraceFolder(tmp_path / "trace")
    shutil.copytree(original.path, folder.path)
    show = ["trace", "show", str(folder.path), "--format", "json"]
    assert main(show) == 0
    expected = capsys.readouterr().out
    spoil(folder)
    assert main(show) == 0
    assert capsys.readouterr().out == expected
    shutil.rmtree(folder.raw)
    assert main(show) == 0
    spoil(folder)
    assert main(show) == 1
    assert capsys.readouterr().err.count("error:") == 1


def test_edited_files_with_right_checksums_are_one_message_whose_remedy_works(
    original: TraceFolder, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = TraceFolder(tmp_path / "trace")
    shutil.copytree(original.path, folder.path)
    swapped(folder)
    write_stamp(folder, stamp_of_raw(folder))
    assert main(["trace", "show", str(folder.path)]) == 1
    told = capsys.readouterr().err
    assert told.count("error:") == 1
    assert f"rm -r {folder.events} {folder.counts} {folder.tables}" in told
    with pytest.raises(DataError, match="do not fit together"):
        traffic_of_trace(folder.path)
    for place in (folder.events, folder.counts, folder.tables):
        shutil.rmtree(place)
    assert main(["trace", "show", str(folder.path)]) == 0
