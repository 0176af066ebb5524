# SPDX-License-Identifier: BSD-3-Clause
"""What to take where, in sentences, of a run that timed algorithms beside the library's own choice."""

import re
from pathlib import Path
from typing import Any, cast

import pytest

from made.sweeps import COLLECTIVE, MadeSweep, make_sweep, stepping
from made.view import load_view
from weft.analyse.tables.answers import WINNERS
from weft.plan.records import Cell
from weft.report.card import card_of
from weft.report.view import RunView
from weft.report.won import beats, won_advice, won_line


def two_algorithms(cell: Cell, size: int) -> float:
    """Beyond 1 KiB one algorithm takes 0.6 of the default's time, all others 1.1."""
    name = cell.parameters.get("algorithm", "default")
    factor = {"default": 1.0, "pairwise": 0.6, "binomial": 0.6}.get(name, 1.1)
    return stepping(cell, size) * (factor if size > 1024 else 1.0 if name == "default" else 1.1)


@pytest.fixture(scope="module")
def each(tmp_path_factory: pytest.TempPathFactory) -> RunView:
    made = MadeSweep(study=COLLECTIVE.format(algorithms="each"), seconds=two_algorithms)
    return load_view(make_sweep(tmp_path_factory.mktemp("won") / "run", made))


def test_the_headline_of_a_tuning_says_what_to_take_where_and_by_how_much(each: RunView) -> None:
    """It named the slowest call."""
    view = each
    card = card_of(view)
    assert re.fullmatch(r"(pairwise|binomial) saves up to 4\d %", card.line)
    told = r"pairwise beats the library's own choice in MPI_Alltoall from 2 KiB to 1 MiB \(N = 1, p = [24]\): "
    assert re.search(told + r"at \S+ .iB it takes 0\.\d+ \(0\.\d+–0\.\d+\) of its time", card.sentences[0])
    assert card.sentences[0].endswith("At 44 of 84 points no algorithm is shown to be faster.")
    assert [value for value, _ in card.numbers][1:] == ["40 of 84", view.grade]
    assert re.search(r"OMPI_MCA_coll_tuned_(alltoall|bcast)_algorithm=\d", card.sentences[1])
    assert [bar.name for bar in view.story.bars(view)][:2] in (["pairwise", "default"], ["binomial", "default"])
    assert "slowest" not in view.headline


def test_where_no_algorithm_wins_the_headline_says_so(tmp_path: Path) -> None:
    made = MadeSweep(study=COLLECTIVE.format(algorithms="each"), seconds=lambda cell, size: 1e-6 + size / 4e9)
    card = card_of(load_view(make_sweep(tmp_path / "run", made)))
    assert card.line == "No algorithm is shown to beat the library's own choice"
    assert card.sentences[0] == f"{card.line} at any of 84 points (call, size and number of processes)."


def test_too_few_launches_name_no_winner_and_say_how_to_get_one(tmp_path: Path) -> None:
    study = COLLECTIVE.format(algorithms="each").replace("launches = 4", "launches = 2")
    view = load_view(make_sweep(tmp_path / "run", MadeSweep(study=study, seconds=two_algorithms)))
    card = card_of(view)
    assert card.line == "No winner is named"
    assert card.sentences == (
        "No winner is named: each algorithm was timed in 2 launches, and 4 are needed.",
        "To try: the same command with --launches 4.",
    )
    assert not view.story.answers(view)


def test_a_winner_of_weft_is_taken_by_a_table(each: RunView) -> None:
    won = [row | {"algorithm": "node.multi{nl=4}"} for row in WINNERS.read(each.path) if beats(row)]
    assert "weft exec --table" in won_advice(cast(Any, won), each.mpi)


def test_an_interval_that_holds_one_beats_nothing(each: RunView) -> None:
    won = next(row for row in WINNERS.read(each.path) if beats(row))
    assert not beats({**won, "high": 1.02})
    assert won_line([{**won, "high": 1.02}]) == "No algorithm is shown to beat the library's own choice"


def test_a_run_of_one_algorithm_alone_is_told_by_its_times(tmp_path: Path) -> None:
    """A study without the library's own choice was told that no call has a time."""
    study = COLLECTIVE.format(algorithms="default").replace('algorithms = "default"', 'algorithm = "flat.pairwise"')
    view = load_view(make_sweep(tmp_path / "run", MadeSweep(study=study.replace('"Bcast", ', ""))))
    assert "MPI_Alltoall, flat.pairwise takes " in view.headline
    assert view.story.answers(view)
