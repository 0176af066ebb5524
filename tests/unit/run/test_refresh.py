# SPDX-License-Identifier: BSD-3-Clause
"""Tables are made by one function before they are read; reading makes none."""

import os
import shlex
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from made.run import Made, make_run
from weft.cli.app import main
from weft.errors import CompareError, DataError
from weft.report.view import load_view
from weft.run.refresh import refresh, refresh_compared, stale, write_manifest
from weft.store.rows import MEASURED


@pytest.fixture
def run(tmp_path: Path) -> Path:
    """A run whose tables nobody has made yet."""
    return make_run(tmp_path / "run", Made(samples=3))


def test_a_view_makes_no_tables_and_names_the_verb_that_does(run: Path) -> None:
    with pytest.raises(DataError, match=r"calls\.parquet") as caught:
        load_view(run)
    assert "weft show" in caught.value.remedy
    assert not (run / "tables").exists()


def test_tables_are_made_once_and_again_after_a_cell_has_come(run: Path) -> None:
    calls = refresh(run).tables / "calls.parquet"
    assert load_view(run).rows
    made = calls.stat().st_mtime_ns
    refresh(run)
    assert calls.stat().st_mtime_ns == made
    later = made / 1e9 + 1
    os.utime(run / "cells", (later, later))
    refresh(run)
    assert calls.stat().st_mtime_ns > made


def test_a_cell_that_comes_after_the_clock_was_set_back_is_seen(run: Path) -> None:
    cell = run / "cells" / "c001.l2.json"
    kept, samples = cell.read_bytes(), cell.with_suffix(".npy").read_bytes()
    cell.unlink()
    cell.with_suffix(".npy").unlink()
    folder = refresh(run)
    assert ("c001", 2) not in {(row["cell"], row["launch"]) for row in MEASURED.read(run)}
    cell.with_suffix(".npy").write_bytes(samples)
    cell.write_bytes(kept)
    for path in (cell, cell.parent, run / "launches"):
        os.utime(path, (1, 1))
    assert stale(folder)
    refresh(run)
    assert ("c001", 2) in {(row["cell"], row["launch"]) for row in MEASURED.read(run)}


def test_a_mistyped_run_of_a_comparison_is_a_mistake_of_its_arguments(run: Path) -> None:
    with pytest.raises(CompareError, match="nowhere does not exist"):
        refresh_compared([run.with_name("nowhere")])


def test_tables_whose_columns_an_earlier_weft_wrote_are_made_anew(run: Path) -> None:
    calls = refresh(run).tables / "calls.parquet"
    pq.write_table(pq.read_table(calls).drop_columns(["interval"]), calls)
    assert load_view(refresh(run).path).rows[0]["interval"]


@pytest.mark.parametrize("name, column", [("ranks", "host"), ("launches", "mpi_library"), ("medians", "call")])
def test_a_table_that_lacks_a_column_is_made_anew_though_its_checksum_agrees(run: Path, name: str, column: str) -> None:
    folder = refresh(run)
    table = folder.tables / f"{name}.parquet"
    pq.write_table(pq.read_table(table).drop_columns([column]), table)
    write_manifest(folder)
    assert column in pq.read_schema(refresh(run).tables / table.name).names


def test_edited_tables_are_one_message_whose_command_helps(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = refresh(run)
    table = folder.tables / "calls.parquet"
    rows = pq.read_table(table)
    place = rows.schema.get_field_index("nodes")
    edited = rows.set_column(place, rows.schema.field(place), pa.nulls(rows.num_rows, rows.schema.field(place).type))
    pq.write_table(edited, table)
    write_manifest(folder)
    for words in (["show"], ["report", "--no-figures"]):
        assert main([words[0], str(run), *words[1:]]) == 1
        _, said = capsys.readouterr()
        assert "do not fit together" in said
        assert "Traceback" not in said
    assert main(shlex.split(" ".join(said.split("`")[1].split()))[1:]) == 0
    assert main(["show", str(run)]) == 0
