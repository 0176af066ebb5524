# SPDX-License-Identifier: BSD-3-Clause
"""Tables are made by one function before they are read; reading makes none."""

import os
import shlex
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import weft
from made.kept import copy_of
from made.run import Made, make_run
from weft.analyse.tables.manifest import MADE_BY, MANIFEST, ROOMS, analysis_digest, made_by
from weft.cli.app import main
from weft.errors import CompareError, DataError
from weft.files.atomic import read_json, write_json
from weft.report.compare import load_compare
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
    for words in (["show"], ["report"]):
        assert main([words[0], str(run), *words[1:]]) == 1
        _, said = capsys.readouterr()
        assert "do not fit together" in said
        assert "Traceback" not in said
    assert main(shlex.split(" ".join(said.split("`")[1].split()))[1:]) == 0
    assert main(["show", str(run)]) == 0


def test_tables_of_another_analysis_are_made_again(run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """After an upgrade the old verdict was printed for ever."""
    folder = refresh(run)
    monkeypatch.setattr("weft.run.refresh.analysis_digest", lambda: "another")
    assert stale(folder)
    refresh(run)
    assert made_by(run) == "another"
    assert not stale(folder)


def test_tables_of_two_analyses_are_never_compared(run: Path, tmp_path: Path) -> None:
    other = make_run(tmp_path / "other", Made(samples=3))
    for each in (run, other):
        refresh(each)
    assert len(load_compare([run, other]).comparisons) == 1
    manifest = run / "tables" / MANIFEST
    write_json(manifest, read_json(manifest) | {MADE_BY: "another"})
    with pytest.raises(CompareError, match="different analyses"):
        load_compare([run, other])
    assert main(["compare", str(run), str(other)]) == 0
    assert made_by(run) == made_by(other) == analysis_digest()


USED = """
import sys
from pathlib import Path
from weft.run.refresh import refresh
from weft.store.trace.folder import TraceFolder
from weft.trace.take import bring_in
before = set(sys.modules)
import weft.analyse.make, weft.analyse.trace.make
for run in sys.argv[1:]:
    refresh(Path(run))
print(*sorted(m for m in sys.modules if m.startswith("weft.analyse") or m not in before and m.startswith("weft.")))
"""


def test_the_digest_covers_what_the_analysis_imports(tmp_path: Path) -> None:
    runs = [str(copy_of(name, tmp_path)) for name in ("exchange", "pairs")]
    done = subprocess.run([sys.executable, "-c", USED, *runs], capture_output=True, text=True, check=True)
    used = {name.split(".")[1] for name in done.stdout.split()}
    alone = {path.stem for path in Path(weft.__file__).parent.glob("*.py")}
    assert "analyse" in used
    assert used - alone <= set(ROOMS)
