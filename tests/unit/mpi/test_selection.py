# SPDX-License-Identifier: BSD-3-Clause
"""Selection tables as files: what is no rule is refused before a job starts, with its place."""

import json
from pathlib import Path
from typing import Any

import pytest

from weft.errors import DataError
from weft.mpi.alltoall import SelectionTable, read_selection

EVIDENCE = {"median_us": 285.1, "interval_us": [281, 289], "pmpi_us": 491.0, "n": 4}
RULE: dict[str, Any] = {
    "op": "alltoall", "nodes": [8, 64], "bytes": [1, 1023], "algorithm": "node.multi{nl=8}", "evidence": EVIDENCE,
}  # fmt: skip


def written(place: Path, *rules: Any, **other: Any) -> Path:
    path = place / "table.json"
    path.write_text(json.dumps({"schema": "weft-tuning/1", "rules": list(rules)} | other))
    return path


def test_a_table_is_read_back_as_it_was_written(tmp_path: Path) -> None:
    table = read_selection(written(tmp_path, RULE, {"op": "*", "algorithm": "pmpi"}, platform={"mpi": "x"}))
    table.write(tmp_path / "again.json")
    assert read_selection(tmp_path / "again.json") == table
    assert json.loads((tmp_path / "again.json").read_text())["rules"][0]["nodes"] == [8, 64]
    assert isinstance(table, SelectionTable)


@pytest.mark.parametrize(
    ("rule", "said"),
    [
        ({key: value for key, value in RULE.items() if key != "evidence"}, "rules.1: .*no evidence"),
        (RULE | {"algorithm": "node.mutli"}, "rules.1.algorithm"),
        (RULE | {"bytes": [9, 8]}, r"a range \[low, high\], not \[9, 8\]"),
        (RULE | {"bytes": [0.5, 8]}, "rules.1.bytes"),
        (RULE | {"rank": 3}, "rules.1.rank"),
        (RULE | {"evidence": EVIDENCE | {"n": 0}}, "evidence.n"),
        (RULE | {"evidence": EVIDENCE | {"median_us": float("nan")}}, "median_us"),
        ({"op": "bcast", "algorithm": "pmpi"}, "rules.1.op"),
        (3, "rules.1"),
    ],
)
def test_what_is_no_rule_is_named(rule: Any, said: str, tmp_path: Path) -> None:
    with pytest.raises(DataError, match=said):
        read_selection(written(tmp_path, rule))


@pytest.mark.parametrize(
    "text", ["", "{", '{"schema": "weft-tuning/1"}', '{"schema": "x", "rules": []}', "[" * 100_000]
)
def test_a_torn_or_foreign_file_is_no_table(text: str, tmp_path: Path) -> None:
    path = tmp_path / "table.json"
    path.write_text(text)
    with pytest.raises(DataError, match=r"table\.json is no selection table"):
        read_selection(path)
