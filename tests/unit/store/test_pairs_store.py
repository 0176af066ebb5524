# SPDX-License-Identifier: BSD-3-Clause
"""Cells of pairs as Parquet."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest

from made.pair_cells import MadePairs, write_pairs_cell
from weft.errors import DataError
from weft.store import pairs
from weft.store.cells import CellData, read_cell
from weft.store.pair_layout import layout_of
from weft.store.pair_scan import bucket_tables, finding_tables
from weft.store.pairs import sample_batches
from weft.store.parquet import convert, sample_files
from weft.store.records import Segment

FIVE = [0, 0, 1, 1, 2]  # odd: somebody has a bye in every round


def times(mode: str, size: int, source: int, target: int) -> Any:
    """Seven samples that tell from which pair they are."""
    return 1000 * np.arange(1, 8) + 100 * source + 10 * target + (size > 0) * 10**6 + (mode == "isolated")


def make(root: Path, **changes: Any) -> Path:
    write_pairs_cell(root, MadePairs(**({"node_of": FIVE, "times": times} | changes)))
    convert(root)
    return root


def rows(root: Path, place: str = "") -> list[dict[str, Any]]:
    return pq.read_table(root / "samples" / place / "c000.parquet").to_pylist()


def test_every_sample_stands_with_source_and_target_and_nobody_meets_himself(tmp_path: Path) -> None:
    root = make(tmp_path, modes=("isolated", "all"))
    found = rows(root)
    assert len(found) == 5 * 4 * 2 * 2 * 8  # ordered pairs, sizes, modes, one cold and seven warm
    for row in found:
        assert row["source"] != row["target"]
        if row["phase"] == "warm":
            expected = times(row["mode"], row["bytes"], row["source"], row["target"])[row["iteration"]]
            assert row["duration_ns"] == expected
            assert row["lost_ns"] == (expected // 2 if expected % 97 == 0 else 0)
        else:
            assert row["duration_ns"] == 90_000
        assert (row["cell"], row["launch"], row["batch"]) == ("c000", 1, 2)


def test_samples_of_one_pair_stand_together(tmp_path: Path) -> None:
    pairs_in_order = [(row["source"], row["target"]) for row in rows(make(tmp_path, modes=("isolated", "all")))]
    runs = [pair for i, pair in enumerate(pairs_in_order) if i == 0 or pair != pairs_in_order[i - 1]]
    assert len(runs) == len(set(runs)) == 20
    assert [source for source, _ in runs] == sorted(source for source, _ in runs)


def test_runs_say_where_the_samples_of_each_pair_stand(tmp_path: Path) -> None:
    root = make(tmp_path, modes=("isolated", "all"))
    same = ("cell", "launch", "source", "target", "bytes", "mode", "phase", "batch")
    spread = [{name: run[name] for name in same} for run in rows(root, "runs") for _ in range(run["samples"])]
    assert spread == [{name: row[name] for name in same} for row in rows(root)]


def test_some_ranks_at_a_time_give_the_same_rows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = rows(make(tmp_path))
    (tmp_path / "samples" / "c000.parquet").unlink()
    monkeypatch.setattr(pairs, "ROW_GROUP", 100)
    convert(tmp_path)
    assert pq.ParquetFile(tmp_path / "samples" / "c000.parquet").num_row_groups > 1
    assert rows(tmp_path) == whole


def test_findings_hold_forward_times_and_second_looks(tmp_path: Path) -> None:
    found = rows(make(tmp_path, again=[(0, 3, 1)]), "findings")
    assert len(found) == 5 * 4 * 2
    assert {row["forward_ns"] for row in found} == {700}
    looked = [row for row in found if row["again_1_ns"] is not None]
    assert [(row["bytes"], row["source"], row["target"]) for row in looked] == [(0, 3, 1)]
    assert (looked[0]["again_1_ns"], looked[0]["again_2_ns"]) == (4320, 4330)
    assert {row["samples"] for row in found} == {None}


def test_a_summary_takes_the_place_of_the_samples(tmp_path: Path) -> None:
    root = make(tmp_path, raw=False)
    assert {row["phase"] for row in rows(root)} == {"cold"}
    found = rows(root, "findings")
    assert {row["samples"] for row in found} == {7}
    one = next(row for row in found if (row["bytes"], row["source"], row["target"]) == (0, 2, 4))
    assert (one["min_ns"], one["median_ns"], one["max_ns"], one["mean_ns"]) == (1240, 4240, 7240, 4240)
    buckets = rows(root, "buckets")
    assert sum(row["count"] for row in buckets) == 5 * 4 * 2 * 7
    assert {row["count"] for row in buckets} >= {1}


def test_a_run_of_raw_samples_has_no_buckets(tmp_path: Path) -> None:
    assert rows(make(tmp_path), "buckets") == []


def test_cells_that_have_not_changed_are_left_alone(tmp_path: Path) -> None:
    root = make(tmp_path)
    files = list((root / "samples").rglob("*.parquet"))
    assert len(files) == 4  # samples, runs, findings, buckets
    before = {file: file.stat().st_mtime_ns for file in files}
    convert(root)
    assert {file: file.stat().st_mtime_ns for file in files} == before


def test_files_of_cells_that_are_gone_are_read_no_more(tmp_path: Path) -> None:
    root = make(tmp_path)
    for path in (root / "cells").iterdir():
        path.unlink()
    convert(root)
    assert sample_files(root) == []


def test_a_segment_that_is_none_of_pairs_is_refused(tmp_path: Path) -> None:
    root = make(tmp_path)
    path = root / "cells" / "c000.l1.json"
    path.write_text(path.read_text().replace('"all.r2@0"', '"all.x2@0"'))
    with pytest.raises(DataError, match=r"segment 'all.x2@0' is none of pairs") as raised:
        convert(root)
    assert raised.value.remedy


def test_a_round_whose_partners_are_not_named_is_refused(tmp_path: Path) -> None:
    root = make(tmp_path)
    path = root / "cells" / "c000.l1.json"
    record = json.loads(path.read_text())
    record["segments"][0]["op"] = "partner.r99"
    path.write_text(json.dumps(record))
    with pytest.raises(DataError, match="none of pairs"):
        layout_of(read_cell(root, "c000", 1).record)


def cell_of(root: Path, **changes: Any) -> CellData:
    """A cell with every kind of segment: summaries, forward times, second looks."""
    return read_cell(make(root, raw=False, again=[(0, 1, 2)], **changes), "c000", 1)


def found(data: CellData) -> list[dict[str, Any]]:
    """All that the store reads of a cell."""
    layout = layout_of(data.record)
    tables = (*finding_tables(data, layout), *bucket_tables(data, layout), *sample_batches(data, layout))
    return [row for table in tables for row in table.to_pylist()]


def test_columns_are_found_by_their_names(tmp_path: Path) -> None:
    data = cell_of(tmp_path)
    assert data.samples is not None
    turned = [each.model_copy(update={"columns": each.columns[::-1]}) for each in data.record.segments]
    rows = data.samples[:, :, ::-1].copy()
    for segment in turned:
        if segment.op.startswith("summary"):  # the first rows of a summary are read as they stand
            first = slice(segment.first, segment.first + len(segment.head))
            rows[:, first] = data.samples[:, first]
    mirrored = CellData(data.record.model_copy(update={"segments": tuple(turned)}), rows)
    assert found(mirrored) == found(data)


def test_summaries_of_a_record_that_does_not_name_its_columns_are_refused(tmp_path: Path) -> None:
    """Earlier kernels stated how many samples were disturbed, not for how long. (The rest is read: the kept runs.)"""
    record = cell_of(tmp_path).record
    bare = [each.model_dump(exclude={"columns", "head"}) for each in record.segments]
    unnamed = tuple(Segment.model_validate(each) for each in bare)
    with pytest.raises(DataError, match=r"summary.* holds .* are read"):
        layout_of(record.model_copy(update={"segments": unnamed}))


@pytest.mark.parametrize("what", ["partner", "all", "forward", "again"])
def test_columns_of_other_names_are_refused(tmp_path: Path, what: str) -> None:
    record = read_cell(make(tmp_path, again=[(0, 1, 2)]), "c000", 1).record
    wrong = next(each for each in record.segments if each.op.startswith(what))
    others = [each for each in record.segments if each is not wrong]
    wrong = wrong.model_copy(update={"columns": ("start_ns", "other_ns", "else")})
    place = record.segments.index(next(each for each in record.segments if each.op == wrong.op))
    others.insert(place, wrong)
    with pytest.raises(DataError, match=r"holds .*other_ns.* are read"):
        layout_of(record.model_copy(update={"segments": tuple(others)}))


def test_columns_in_two_orders_and_another_head_are_refused(tmp_path: Path) -> None:
    record = cell_of(tmp_path).record
    last = record.segments[-1]
    turned = (*record.segments[:-1], last.model_copy(update={"columns": last.columns[::-1]}))
    with pytest.raises(DataError, match="in another order"):
        layout_of(record.model_copy(update={"segments": turned}))
    beheaded = tuple(each.model_copy(update={"head": ()}) for each in record.segments)
    with pytest.raises(DataError, match="begins with rows of"):
        layout_of(record.model_copy(update={"segments": beheaded}))
