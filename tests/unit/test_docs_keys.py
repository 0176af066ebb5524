# SPDX-License-Identifier: BSD-3-Clause
"""Keys of what is printed as JSON are on a page of the docs."""

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from weft.analyse.tables.answers import ChangeRow
from weft.analyse.tables.breakdown import BreakdownRow
from weft.analyse.tables.claims import make_claim
from weft.analyse.tables.sweeps import TrialRow
from weft.report.card import as_json
from weft.report.view import RunView

PAGE = Path(__file__).parents[2] / "docs" / "dev" / "show-json.md"


@pytest.mark.parametrize("row", [BreakdownRow, TrialRow, ChangeRow])
def test_every_field_of_a_row_in_json_is_documented(row: type[Any]) -> None:
    text = PAGE.read_text()
    assert [key for key in row.__annotations__ if f"`{key}`" not in text] == []


def test_every_key_of_weft_why_in_json_is_documented(monkeypatch: pytest.MonkeyPatch) -> None:
    text = PAGE.read_text().partition("## `weft why RUN --json`")[2]

    def one_step(_: RunView) -> list[list[dict[str, Any]]]:
        return [[dict.fromkeys(BreakdownRow.__annotations__) | {"launches": 4}]]

    monkeypatch.setattr("weft.report.card.explained", one_step)
    claim = make_claim("breakdown.hardware", "breakdown", value=1.0, unit="seconds", seconds=1.0)
    cells = SimpleNamespace(measured=[])
    made = SimpleNamespace(
        name="", label="", mpi="", path="", plan=cells, claims=[claim | {"cell": None, "call": None}], confidence="A"
    )
    value = json.loads(as_json(cast(RunView, made)))
    keys = [*value, *value["breakdowns"][0], *value["breakdowns"][0]["steps"][0]]
    assert [key for key in keys if f"`{key}`" not in text] == []
