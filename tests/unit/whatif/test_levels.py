# SPDX-License-Identifier: BSD-3-Clause
"""Every level says how far it is known to be off, in the figures of docs/dev/papers-measured.md."""

import re
from dataclasses import replace
from pathlib import Path

import pytest

from weft.fabric import load_fabric
from weft.whatif.side_by_side import COMPUTATION, FITTED, STATIC, Outcome, SideBySide, simulated
from weft.whatif.variants import variants

PAGE = (Path(__file__).parents[3] / "docs" / "dev" / "papers-measured.md").read_text()
SECONDS = {"s": 1.0, "ms": 1e-3, "us": 1e-6}


def seconds(text: str) -> float:
    number, unit = text.split()
    return float(number) * SECONDS[unit]


def test_a_fitted_machine_errs_as_the_page_says() -> None:
    assert simulated(load_fabric("tara")).error == FITTED
    assert "Three cells fitted, 6 predicted: each within 3.5%" in PAGE
    assert FITTED.startswith("3.5% at most")


@pytest.mark.parametrize(("model", "mean"), [("fair", "34%"), ("infiniband", "17%")])
def test_a_machine_of_data_sheets_errs_by_its_model(model: str, mean: str) -> None:
    fabric = load_fabric("yellowstone")
    assert fabric.simulation
    simulation = fabric.simulation.model_copy(update={"model": model})
    words = f"{mean} in the mean and 79% at worst"
    assert words in simulated(fabric.model_copy(update={"simulation": simulation})).error
    assert f"{words} by {model}" in PAGE


def test_static_loads_are_below_simulated_times_by_what_the_page_shows() -> None:
    """Rows of tara extended whose bound is injection: the adapters' links are the fullest."""
    rows = re.findall(r"^\| \d+ \| \d+ \| [\d,]+ B \| ([\d.]+ m?s) \| [^|]*\| ([\d.]+ m?s), injection \|$", PAGE, re.M)
    ratios = [seconds(time) / seconds(bound) for time, bound in rows]
    assert len(ratios) >= 5
    assert f"{min(ratios):.2f} to {max(ratios):.2f} times as long" in STATIC.error


def test_bounds_are_called_at_least_and_help_nobody(tmp_path: Path) -> None:
    fabric = load_fabric("tara")
    found, _ = variants(fabric, 16, 4, 1)
    outcomes = [Outcome(each, tmp_path / each.name, 2.0, simulated(fabric)) for each in found]
    outcomes[-1] = replace(outcomes[-1], seconds=0.5, level=STATIC)
    answers = SideBySide(16, "tara", outcomes, 0.25)
    rows = answers.table().rows
    assert rows[0][1:4] == ("2 s", "1.000", "simulated")
    assert rows[-2][1:4] == ("at least 500 ms", "at least 0.250", "static loads")
    assert rows[-1][1:] == ("at least 250 ms", "at least 0.125", "closed form", COMPUTATION.error)
    # half a second at least, which may be three quarters less: that was not tried
    assert answers.sentence() == "Nothing that was simulated saves 2%. No network could save more than 88%."
    assert answers.as_tree()["variants"][-1]["known_error"] == STATIC.error


def test_what_helps_as_much_is_named_as_well(tmp_path: Path) -> None:
    """Twice the uplinks were told to help most, and other nodes, which cost nothing, helped a billionth less."""
    fabric = load_fabric("tara")
    found, _ = variants(fabric, 16, 4, 1)
    assert found[1].words == "the best nodes by the routes"
    times = {"placement": 1.000001, "uplinks": 1.0, "adapter": 1.5}
    outcomes = [Outcome(each, tmp_path, times.get(each.name, 2.0), simulated(fabric)) for each in found]
    said = SideBySide(16, "tara", outcomes, 0.0).sentence()
    assert said.startswith(
        "What helps most: the best nodes by the routes or twice the uplinks, 50% less time (simulated)."
    )


def test_a_time_that_the_model_cannot_narrow_stands_with_its_range(tmp_path: Path) -> None:
    fabric = load_fabric("tara")
    found, _ = variants(fabric, 16, 4, 1)
    outcomes = [Outcome(each, tmp_path / each.name, 2.0, simulated(fabric), low_s=0.0, high_s=3.0) for each in found]
    answers = SideBySide(16, "tara", outcomes, 0.25)
    assert answers.table().rows[0][1] == "2.00 s (0.00–3.00)"
    assert "In brackets" in answers.sentence()
    exact = [replace(each, low_s=None, high_s=None) for each in outcomes]
    assert "In brackets" not in SideBySide(16, "tara", exact, 0.25).sentence()
    assert answers.as_tree()["variants"][0]["high_s"] == 3.0


def test_a_part_that_was_not_simulated_may_help_more(tmp_path: Path) -> None:
    fabric = load_fabric("tara")
    found, _ = variants(fabric, 16, 4, 1)
    outcomes = [Outcome(each, tmp_path, 2.0, simulated(fabric)) for each in found]
    outcomes[1:3] = replace(outcomes[1], seconds=0.2, level=STATIC), replace(outcomes[2], seconds=1.0)
    said = SideBySide(16, "tara", outcomes, 0.0).sentence()
    assert said.startswith(
        "Of what was simulated, helps most: all-to-alls by node.multi{nl=4}, 50% less time (simulated)."
    )
    assert "No network" not in said  # without any computation that would be all of it


def test_a_replay_faster_than_its_bound_is_told_and_proves_nothing(tmp_path: Path) -> None:
    """It was cut off at 0%: "No network could save more than 0%", beside twice the uplinks in half the time."""
    fabric = load_fabric("tara")
    found, _ = variants(fabric, 16, 4, 1)
    outcomes = [Outcome(each, tmp_path, 2.0, simulated(fabric), bound_s=1.5) for each in found]
    outcomes[3] = replace(outcomes[3], seconds=1.0)
    answers = SideBySide(16, "tara", outcomes, 1.5)
    assert answers.sentence() == "Nothing that was simulated saves 2%. No network could save more than 25%."
    (line,) = answers.contradictions()
    assert line.startswith(f"{found[3].words}: simulated in 1 s, and by its bound it takes 1.5 s at least")
    today = SideBySide(16, "tara", [replace(outcomes[0], seconds=1.0), *outcomes[1:]], 1.5)
    assert today.sentence().startswith("Nothing is shown")


def test_nothing_replayed_is_no_remedy(tmp_path: Path) -> None:
    """Nine nanoseconds of an empty replay against none: "What helps most: , 100% less time"."""
    fabric = load_fabric("tara")
    found, _ = variants(fabric, 16, 4, 0)
    outcomes = [Outcome(each, tmp_path, 0.0, simulated(fabric)) for each in found]
    outcomes[0] = replace(outcomes[0], seconds=9e-9)
    said = SideBySide(16, "tara", outcomes, 0.0, nothing_played=True).sentence()
    assert said == "Nothing is shown: the trace has no calls that are replayed."
    assert "What helps most: the best" in SideBySide(16, "tara", outcomes, 0.0).sentence()


def test_overlapping_ranges_may_save_nothing(tmp_path: Path) -> None:
    fabric = load_fabric("tara")
    found, _ = variants(fabric, 16, 4, 1)
    outcomes = [Outcome(each, tmp_path, 2.0, simulated(fabric), low_s=1.0, high_s=3.0) for each in found]
    outcomes[1] = replace(outcomes[1], seconds=1.0, low_s=0.5, high_s=1.5)
    assert "it may as well save nothing" in SideBySide(16, "tara", outcomes, 0.25).sentence()
    outcomes[1] = replace(outcomes[1], high_s=0.9)
    assert "it may as well save nothing" not in SideBySide(16, "tara", outcomes, 0.25).sentence()
