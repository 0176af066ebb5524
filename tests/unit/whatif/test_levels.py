# SPDX-License-Identifier: BSD-3-Clause
"""Every level says how far it is known to be off, in the figures of docs/dev/papers-measured.md."""

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from weft.analyse.doubts import doubt_model
from weft.analyse.tables.claims import ClaimRow, Grade, QualityRow, claims_of, extras
from weft.fabric import load_fabric
from weft.whatif.variants import COMPUTATION, FITTED, STATIC, Outcome, SideBySide, simulated, variants
from weft.whatif.whole import make_claims

PAGE = (Path(__file__).parents[3] / "docs" / "dev" / "papers-measured.md").read_text()
SECONDS = {"s": 1.0, "ms": 1e-3, "us": 1e-6}


def seconds(text: str) -> float:
    number, unit = text.split()
    return float(number) * SECONDS[unit]


def test_a_fitted_machine_errs_as_the_page_says() -> None:
    assert simulated(load_fabric("tara")).error == FITTED
    assert "Three cells fitted, 6 predicted: each within 3.5 %" in PAGE
    assert FITTED.startswith("3.5 % at most")


@pytest.mark.parametrize(("model", "mean"), [("fair", "34 %"), ("infiniband", "17 %")])
def test_a_machine_of_data_sheets_errs_by_its_model(model: str, mean: str) -> None:
    fabric = load_fabric("yellowstone")
    assert fabric.simulation
    simulation = fabric.simulation.model_copy(update={"model": model})
    words = f"{mean} in the mean and 79 % at worst"
    assert words in simulated(fabric.model_copy(update={"simulation": simulation})).error
    assert f"{words} by {model}" in PAGE


def test_static_loads_are_below_simulated_times_by_what_the_page_shows() -> None:
    """Rows of tara extended whose bound is injection: the adapters' links are the fullest."""
    rows = re.findall(r"^\| \d+ \| \d+ \| [\d,]+ B \| ([\d.]+ m?s) \| [^|]*\| ([\d.]+ m?s), injection \|$", PAGE, re.M)
    ratios = [seconds(time) / seconds(bound) for time, bound in rows]
    assert len(ratios) >= 5
    assert f"{min(ratios):.2f} to {max(ratios):.2f} times as long" in STATIC.error


def claims(outcomes: list[Outcome], least: float = 0.0, **more: Any) -> list[ClaimRow]:
    return make_claims(SideBySide(16, "tara", outcomes, least, **more), "trace")


@pytest.fixture
def outcomes(tmp_path: Path) -> list[Outcome]:
    """Two simulated seconds of every machine."""
    fabric = load_fabric("tara")
    found, _ = variants(fabric, 16, 4, 1)
    return [Outcome(each, tmp_path / each.name, 2.0, simulated(fabric)) for each in found]


def test_bounds_are_called_at_least_and_help_nobody(outcomes: list[Outcome]) -> None:
    outcomes[-1] = replace(outcomes[-1], seconds=0.5, level=STATIC)
    answers = SideBySide(16, "tara", outcomes, 0.25)
    rows = answers.table().rows
    assert rows[0][1:4] == ("2 s", "1.000", "simulated")
    assert rows[-2][1:4] == ("at least 500 ms", "at least 0.250", "static loads")
    assert rows[-1][1:] == ("at least 250 ms", "at least 0.125", "closed form", COMPUTATION.error)
    # half a second at least, which may be three quarters less: that was not tried
    answer = make_claims(answers, "trace")[0]
    assert (answer["id"], extras(answer)["simulated"], extras(answer)["of"]) == (
        "whatif.nothing-helps", len(outcomes) - 2, len(outcomes) - 1
    )  # fmt: skip
    assert (
        next(each for each in make_claims(answers, "trace") if each["id"] == "alternative.no-network")["value"] == 0.125
    )
    assert answers.as_tree()["variants"][-1]["known_error"] == STATIC.error
    assert answers.draw().svg.count("open-bar") == 2


def test_what_helps_as_much_is_named_as_well(outcomes: list[Outcome]) -> None:
    """Twice the uplinks were told to help most, and other nodes, which cost nothing, helped a billionth less."""
    times = {"placement": 1.000001, "uplinks": 1.0, "adapter": 1.5}
    answer = claims([replace(each, seconds=times.get(each.variant.name, 2.0)) for each in outcomes])[0]
    assert (answer["id"], answer["value"]) == ("whatif.helps", 0.5)
    assert answer["subject"] == "the best nodes by the routes or twice the uplinks"


def test_a_time_that_the_model_cannot_narrow_stands_with_its_range(outcomes: list[Outcome]) -> None:
    ranged = [replace(each, low_s=0.0, high_s=3.0) for each in outcomes]
    answers = SideBySide(16, "tara", ranged, 0.25)
    assert answers.table().rows[0][1] == "2.00 s (0.00–3.00)"
    assert answers.as_tree()["variants"][0]["high_s"] == 3.0


def test_a_part_that_was_not_simulated_may_help_more(outcomes: list[Outcome]) -> None:
    outcomes[1:3] = replace(outcomes[1], seconds=0.2, level=STATIC), replace(outcomes[2], seconds=1.0)
    found = claims(outcomes)
    assert (found[0]["subject"], found[0]["value"]) == ("all-to-alls by node.multi{nl=4}", 0.5)
    assert extras(found[0])["simulated"] == len(outcomes) - 2
    assert "alternative.no-network" not in {each["id"] for each in found}  # without computation it would be all of it
    (remedy,) = claims_of(found, "remedy")
    assert remedy["next"].startswith('weft exec --force "node.multi{nl=4}"')


def test_a_replay_faster_than_its_bound_is_told_and_proves_nothing(outcomes: list[Outcome]) -> None:
    """It was cut off at 0 %: "No network could save more than 0 %", beside twice the uplinks in half the time."""
    bounded = [replace(each, bound_s=1.5) for each in outcomes]
    bounded[3] = replace(bounded[3], seconds=1.0)
    answers = SideBySide(16, "tara", bounded, 1.5)
    assert make_claims(answers, "trace")[0]["id"] == "whatif.nothing-helps"
    (line,) = answers.contradictions()
    assert line.startswith(f"{bounded[3].variant.words}: simulated in 1 s, and by its bound it takes 1.5 s at least")
    assert claims([replace(bounded[0], seconds=1.0), *bounded[1:]], 1.5)[0]["id"] == "whatif.untimed"


def test_nothing_replayed_is_no_remedy(outcomes: list[Outcome]) -> None:
    """Nine nanoseconds of an empty replay against none: "What helps most: , 100 % less time"."""
    (answer,) = claims([replace(each, seconds=9e-9) for each in outcomes], nothing_played=True)
    assert (answer["id"], extras(answer)["reason"]) == ("whatif.untimed", "nothing-replayed")


def test_overlapping_ranges_may_save_nothing(outcomes: list[Outcome]) -> None:
    ranged = [replace(each, low_s=1.0, high_s=3.0) for each in outcomes]
    ranged[1] = replace(ranged[1], seconds=1.0, low_s=0.5, high_s=1.5)
    assert claims(ranged)[0]["id"] == "whatif.inconclusive"
    unfitted = [replace(each, own_s=(each.seconds, each.seconds)) for each in ranged]  # one error is in both times
    shared = claims(unfitted)[0]
    assert (shared["id"], shared["value"], shared["high"]) == ("whatif.helps", 0.5, None)
    unfitted = [replace(unfitted[0], own_s=(1.4, 2.0)), replace(unfitted[1], own_s=(0.5, 1.5)), *unfitted[2:]]
    assert claims(unfitted)[0]["id"] == "whatif.inconclusive"
    ranged[1] = replace(ranged[1], high_s=0.9)
    answer = claims(ranged)[0]
    assert (answer["id"], answer["low"], answer["high"]) == ("whatif.helps", pytest.approx(0.5 / 3), 0.9)


@pytest.mark.parametrize(
    ("grade", "id"), [("B", "whatif.helps"), ("C", "whatif.inconclusive"), ("D", "whatif.inconclusive")]
)
def test_a_doubtful_trace_leaves_its_replays_inconclusive(outcomes: list[Outcome], grade: Grade, id: str) -> None:
    outcomes[1] = replace(outcomes[1], seconds=1.0)
    doubt = QualityRow(
        doubt="trace", grade=grade, count=1, of=1, share=1.0, noun="it was torn", worst=None, launches=None, turns=""
    )
    found = claims(outcomes, doubts=(doubt,))
    assert (found[0]["id"], found[0]["confidence"]) == (id, grade)
    assert bool(claims_of(found, "remedy")) is (grade == "B")


def test_a_machine_to_which_nothing_was_fitted_still_tells_which_helps(outcomes: list[Outcome]) -> None:
    """The model's error is in both times of a ratio."""
    outcomes[1] = replace(outcomes[1], seconds=1.0)
    doubt = doubt_model(load_fabric("yellowstone"))
    assert doubt
    answer = claims(outcomes, doubts=(doubt,))[0]
    assert (answer["id"], answer["value"], answer["confidence"]) == ("whatif.helps", 0.5, "C")
