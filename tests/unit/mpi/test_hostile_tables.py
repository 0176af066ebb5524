# SPDX-License-Identifier: BSD-3-Clause
"""Selection tables that nobody of good will wrote: each is read, or refused in one line that names the place."""

import json
import random
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest

from weft.errors import DataError
from weft.mpi.alltoall import SelectionTable, read_selection

GOOD: dict[str, Any] = {
    "schema": "weft-tuning/1",
    "rules": [
        {
            "op": "alltoall", "nodes": [2, 4], "ranks_per_node": [4, 4], "p": [8, 16], "bytes": [8, 64],
            "algorithm": "node.multi{nl=4}",
            "evidence": {"median_us": 1.5, "interval_us": [1, 2], "pmpi_us": 3, "n": 4},
        },
        {"op": "*", "algorithm": "pmpi"},
    ],
}  # fmt: skip
HOSTILE: tuple[Any, ...] = (
    None, True, -1, 10**400, 1e999, float("nan"), "", "a\nb\x1b[2J" * 99, [], {}, [[]], [2, 1], [1], [1, 2, 3],
    ["1", "2"], [0.5, 1], [True, True], [-1, 5], [0, 2**63], "node.multi{nl=4}{", "pmpi;rm", {"median_us": 1},
)  # fmt: skip


def places(tree: Any, here: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Paths of all values."""
    below: Any = tree.items() if isinstance(tree, dict) else enumerate(tree) if isinstance(tree, list) else ()  # pyright: ignore
    return [here, *(path for key, value in below for path in places(value, (*here, key)))]


def spoilt(path: tuple[Any, ...], value: Any) -> Any:
    """The good table with one value replaced."""
    whole = deepcopy(GOOD)
    if not path:
        return value
    at: Any = whole
    for key in path[:-1]:
        at = at[key]
    at[path[-1]] = value
    return whole


def read(text: str, folder: Path) -> SelectionTable | str:
    """The table, or why it is none."""
    path = folder / "table.json"
    path.write_text(text)
    try:
        return read_selection(path)
    except DataError as problem:
        assert "\n" not in problem.what
        assert "\x1b" not in problem.what
        assert len(problem.what) < 400
        return problem.what


@pytest.mark.parametrize("value", HOSTILE, ids=range(len(HOSTILE)))
def test_one_wrong_value_anywhere_is_refused_or_means_what_it_says(value: Any, tmp_path: Path) -> None:
    for path in places(GOOD):
        found = read(json.dumps(spoilt(path, value)), tmp_path)
        if not isinstance(found, str):
            for rule in found.rules:
                for ends in (rule.nodes, rule.ranks_per_node, rule.p, rule.bytes):
                    assert ends is None or 0 <= ends[0] <= ends[1]
                assert rule.algorithm == "pmpi" or rule.evidence is not None


@pytest.mark.parametrize("seed", range(20))
def test_torn_and_garbled_texts_are_refused_in_one_line(seed: int, tmp_path: Path) -> None:
    some, text = random.Random(seed), json.dumps(GOOD)
    for _ in range(20):
        first, last = sorted(some.choices(range(len(text)), k=2))
        read(text[:first] + some.choice(('"', "}", "NaN", "[" * 9, "\x00", "1e5", "")) + text[last:], tmp_path)
    for torn in (text[: len(text) // 2], "[" * 100_000, '{"a":' * 50_000, "\ud800".encode("utf-8", "ignore").decode()):
        assert "is no selection table" in str(read(torn, tmp_path))


def test_a_million_rules_are_refused_with_their_number(tmp_path: Path) -> None:
    one = '{"op":"*","algorithm":"pmpi"}'
    said = read('{"schema":"weft-tuning/1","rules":[' + ",".join([one] * 10**6) + "]}", tmp_path)
    assert "it has 1,000,000 rules, and at most 100,000 are read" in str(said)


def test_rules_may_overlap_and_the_first_is_taken(tmp_path: Path) -> None:
    whole = deepcopy(GOOD)
    whole["rules"] = [whole["rules"][0], {**whole["rules"][0], "algorithm": "flat.pairwise"}]
    found = read(json.dumps(whole), tmp_path)
    assert isinstance(found, SelectionTable)
    assert [rule.algorithm for rule in found.rules] == ["node.multi{nl=4}", "flat.pairwise"]
