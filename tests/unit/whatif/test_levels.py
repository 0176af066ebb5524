# SPDX-License-Identifier: BSD-3-Clause
"""Every level says how far it is known to be off, in the figures of docs/fidelity.md."""

import re
from dataclasses import replace
from pathlib import Path

import pytest

from weft.fabric import load_fabric
from weft.whatif.levels import COMPUTATION, FITTED, STATIC, simulated
from weft.whatif.side_by_side import Outcome, SideBySide
from weft.whatif.variants import variants

PAGE = (Path(__file__).parents[3] / "docs" / "fidelity.md").read_text()
SECONDS = {"s": 1.0, "ms": 1e-3, "us": 1e-6}


def seconds(text: str) -> float:
    number, unit = text.split()
    return float(number) * SECONDS[unit]


def test_a_fitted_machine_errs_as_the_page_says() -> None:
    assert simulated(load_fabric("tara")).error == FITTED
    assert "Three cells fitted, 6 predicted: each within 3.5%" in PAGE
    assert FITTED.startswith("3.5% at most")


@pytest.mark.parametrize(("model", "mean"), [("fair", "46%"), ("infiniband", "28%")])
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
    assert answers.sentence() == "Nothing that was tried saves 2%. No network could save more than 88%."
    assert answers.as_tree()["variants"][-1]["known_error"] == STATIC.error


def test_what_helps_as_much_is_named_as_well(tmp_path: Path) -> None:
    """Twice the uplinks were told to help most, and other nodes, which cost nothing, helped a billionth less."""
    fabric = load_fabric("tara")
    found, _ = variants(fabric, 16, 4, 1)
    times = {"placement": 1.000001, "uplinks": 1.0, "adapter": 1.5}
    outcomes = [Outcome(each, tmp_path, times.get(each.name, 2.0), simulated(fabric)) for each in found]
    said = SideBySide(16, "tara", outcomes, 0.0).sentence()
    assert said.startswith("What helps most: the best free nodes or twice the uplinks, 50% less time (simulated).")


def test_a_time_that_the_model_cannot_narrow_stands_with_its_range(tmp_path: Path) -> None:
    fabric = load_fabric("tara")
    found, _ = variants(fabric, 16, 4, 1)
    outcomes = [Outcome(each, tmp_path / each.name, 2.0, simulated(fabric), low_s=0.0, high_s=3.0) for each in found]
    answers = SideBySide(16, "tara", outcomes, 0.25)
    assert answers.table().rows[0][1] == "2.00 s (0.00–3.00)"
    assert "In brackets stand ranges of what the model leaves out" in answers.sentence()
    assert answers.as_tree()["variants"][0]["high_s"] == 3.0
