# SPDX-License-Identifier: BSD-3-Clause
"""Tables and figures of many cells: work is counted, not timed. 5,000 cells took 42 s to show and 387 s to report."""

import json
import shutil
import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from made.folder import begin_folder
from made.run import MANY, Made, make_run
from weft.analyse import calls, links, make
from weft.analyse.make import make_tables
from weft.analyse.thresholds import knob
from weft.plan import rounds
from weft.plan.records import Cell
from weft.report.page import all_figures
from weft.report.stories.exchange import MOST_SHOWN
from weft.report.tables import render
from weft.report.view import load_view
from weft.store import parquet
from weft.store.parquet import convert

STUDY = """\
name = "many"
kernel = "exchange"
[measure]
launches = 2
seed = 7
[[series]]
name = "grid"
nodes = [1]
ranks_per_node = [1, 2]
n = 64
m = {m}
"""


class Counting(list[Any]):
    """A list that counts how many of its rows are looked at, one after the other."""

    seen = 0

    def __iter__(self) -> Iterator[Any]:
        for row in super().__iter__():
            Counting.seen += 1
            yield row


def made(path: Path, lengths: int) -> Path:
    make_run(path, Made(study=STUDY.format(m=list(range(1, lengths + 1))), samples=3))
    convert(path)
    return path


def looked_at(view: Any, draw: Any) -> int:
    Counting.seen = 0
    draw(replace(view, rows=Counting(view.rows)))
    return Counting.seen


def test_the_table_of_calls_looks_at_each_segment_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run, real = made(tmp_path, 10), calls.call_rows

    def counted(cells: Any, launches: Any, segments: Any, *rest: Any) -> Any:
        Counting.seen = 0
        rows = real(cells, launches, Counting(segments), *rest)
        assert Counting.seen <= 3 * len(segments), "not once for each cell"
        return rows

    monkeypatch.setattr(calls, "call_rows", counted)
    make_tables(run)


def test_figures_ask_for_the_main_call_once_not_once_a_row(tmp_path: Path) -> None:
    run = made(tmp_path, 4)
    make_tables(run)
    view = load_view(run)
    series = len(view.plan.series)
    assert looked_at(view, all_figures) < 12 * (series + 1) * len(view.rows)
    assert looked_at(view, render) < 12 * (series + 1) * len(view.rows)


def test_what_a_run_has_nothing_of_is_not_computed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither times on links that nobody counted, nor steps of breakdowns that nobody measured."""

    def not_needed(*_: Any) -> None:
        pytest.fail("it was computed")

    run = made(tmp_path, 2)
    monkeypatch.setattr(links, "operation_seconds", not_needed)
    monkeypatch.setattr(make, "turn_rows", not_needed)
    make_tables(run)


def test_the_settings_of_many_launches_alike_are_parsed_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run, parsed, loads = made(tmp_path, 10), list[str](), json.loads

    def counted(text: str) -> Any:
        parsed.append(text)
        return loads(text)

    knob.texts.cache_clear()
    monkeypatch.setattr(knob, "json", SimpleNamespace(loads=counted))
    make_tables(run)
    assert len(parsed) == len(set(parsed)) < 10


def test_small_cells_need_no_threads(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """They take no less time by them, and a quarter more of the processor."""
    path, real = make_run(tmp_path, Made(study=STUDY.format(m=[1, 2, 3]), samples=3)), parquet.sample_tables
    threads: set[bool] = set()

    def seen(launches: Any) -> Any:
        threads.add(threading.current_thread() is threading.main_thread())
        return real(launches)

    monkeypatch.setattr(parquet, "sample_tables", seen)
    convert(path)
    assert threads == {True}
    threads.clear()
    shutil.rmtree(path / "samples")
    monkeypatch.setattr(parquet, "WORTH_A_THREAD", 0)
    convert(path)
    assert threads == {False}


def test_a_page_draws_two_dozen_series_says_how_many_it_leaves_out_and_has_the_times_of_all(tmp_path: Path) -> None:
    run = made(tmp_path, 30)
    make_tables(run)
    view = load_view(run)
    drawn = [figure for figure in all_figures(view) if figure.name.startswith("time-")]
    tables = view.story.tables(view)
    memory = [table for table in tables if "memory of one array" in table.title]
    assert (len(drawn), len(memory)) == (MOST_SHOWN, MOST_SHOWN)
    assert f"{30 - MOST_SHOWN} other series" in drawn[-1].key
    assert f"{30 - MOST_SHOWN} other series" in memory[-1].title
    assert any(f"csv has those of {30 - MOST_SHOWN} other series" in table.title for table in tables)
    assert sum(str(row[0]).startswith("m =") for table in tables for row in table.rows) >= 30


def test_plans_look_for_the_batches_of_a_floor_once_not_once_a_cell(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """6,400 cells took 248 s of processor time to plan: each floor was held against each batch."""
    asked: list[Cell] = []
    real = rounds.placement_of

    def counted(cell: Cell) -> Any:
        asked.append(cell)
        return real(cell)

    study = STUDY.format(m=[1]).replace("nodes = [1]", f"nodes = {[2**at for at in range(6)]}")
    study = study.replace("[1, 2]", f"{[2**at for at in range(6)]}").replace("n = 64", "n = 4194304")
    plan = begin_folder(tmp_path / "run", study, MANY.format(kind="slurm", memory="64 GiB"), cores=64)
    monkeypatch.setattr(rounds, "placement_of", counted)
    assert len(plan.floors) == 24
    assert list(rounds.launches_of(plan))
    assert len(asked) <= 4 * len(plan.cells)
