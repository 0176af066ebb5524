# SPDX-License-Identifier: BSD-3-Clause
"""How a run was measured, in words: counts add up, clocks and brackets are explained, a model has no launches."""

from typing import Any

import pytest

from made.run import make_run
from made.view import load_view
from weft.report.intervals import interval_meaning
from weft.report.method import clocks, endings, floor_facts, how_measured, taken_of_pairs, validation
from weft.report.tables import meaning
from weft.report.tabular import Table
from weft.report.view import RunView


@pytest.fixture(scope="module")
def local(tmp_path_factory: pytest.TempPathFactory) -> RunView:
    return load_view(make_run(tmp_path_factory.mktemp("runs") / "local"))


def ended(**counts: int) -> Any:
    return [{"ended_by": name} for name, count in counts.items() for _ in range(count)]


def test_what_ended_the_samples_adds_up() -> None:
    """Of 15 rows "10 reached the precision, 9 reached the sample limit, 5 reached the time budget" is 24."""
    text = endings(ended(precision=33, budget=17, samples=10))
    assert text.startswith("of 60 series of samples, one for each warm row and launch: 33 by the precision, 17 by the")
    assert "10 by the most samples" in text
    assert "warnings judge how far the launches differ" in text


def test_the_series_of_a_run_are_its_warm_rows_in_each_launch(local: RunView) -> None:
    told = dict(how_measured(local))
    warm = [row for row in local.rows if row["phase"] == "warm"]
    assert f"of {3 * len(warm)} series of samples" in told["What ended it"]
    assert f": {3 * len(warm)} by the precision." in told["What ended it"]
    assert told["Samples taken"].startswith("90 to 90 of a row, over all its launches")


def test_a_model_has_one_sample_and_says_why_its_data_were_not_checked(local: RunView) -> None:
    """It said "15 reached the sample limit", "at least 10 samples" and "synchronised clocks" of a simulated run."""
    view = load_view(local.path)
    vars(view)["rows"] = [
        {**row, "interval": "none", "samples": 1, "launches": 1, "max_s": row["min_s"]} for row in local.rows
    ]
    modelled = view.plan.planned_fabric.model_copy(update={"kind": "simulated"})
    vars(view)["plan"] = view.plan.model_copy(update={"planned_fabric": modelled})
    assert view.plan.planned_fabric.is_model
    told = dict(how_measured(view))
    assert told["Samples"] == "one of a row, in one launch: a model gives the same time again"
    assert not {"Clocks", "What ended it", "Repetition", "Samples taken"} & set(told)
    assert "clock" not in told["Time of a call"]
    assert told["Interval"] == "Models have no confidence interval."


def test_cells_that_were_not_checked_say_why() -> None:
    cells: Any = [{"validated": True, "validation_detail": ""}, {"validated": False, "validation_detail": "folded"}]
    assert validation(cells).endswith("in 1 of 2 cells and launches; not in the others: folded")


def test_clocks_that_lie_apart_say_what_is_taken_in_place_of_their_times() -> None:
    """A residual of 20.5 us stood beside a time of 53.9 us without a word (METHOD 2)."""
    cells: Any = [
        {"clock_method": "shared", "clock_residual_ns": 0.0},
        {"clock_method": "tree", "clock_residual_ns": 20_500.0},
    ]
    text = clocks(cells, [{"definition": "global"}, {"definition": "mixed"}])  # type: ignore[list-item]
    assert text.startswith("on one host its monotonic clock, which all ranks share; across hosts offsets measured")
    assert "up to 20.5 us. Where that was over 10 % of a time, the longest duration of a rank is taken (1 of 2" in text


def test_samples_of_a_pair_are_told_over_the_launches() -> None:
    assert taken_of_pairs([{"samples": 62, "pairs": 8}, {"samples": 960, "pairs": 8}], 4) == (  # type: ignore[list-item]
        "7.75 to 120 of a pair, over 4 launches"
    )


def test_marks_that_stand_nowhere_are_not_explained(local: RunView) -> None:
    plain = Table("T", ("N", "1"), (("p", "1"), ("time", "1 s")))
    text = meaning([local], [plain])
    assert "*" not in text
    assert "bound" not in text
    marked = Table("T", ("N", "1"), (("p", "4 *"), ("   at least", "1 s, injection")))
    assert meaning([local], [marked]).endswith("*: more ranks than cores. At least: the lower bound and its cause.")


def test_brackets_are_plain_english_of_their_kind() -> None:
    launches = [{"interval": "range of launches", "launches": 4, "coverage": 0.875}]
    assert interval_meaning(launches) == "In brackets: min-max of 4 launch medians: 88 % confidence."
    roots = [{"interval": "none", "min_s": 1.0, "max_s": 2.0}, {"interval": "range of the model"}]
    assert interval_meaning(roots).startswith("Without brackets: models have no confidence interval. In brackets: ")
    assert interval_meaning(roots).endswith('In brackets of "all roots": fastest and slowest root.')


def test_the_copy_rate_behind_a_bound_stands_beside_the_median(local: RunView) -> None:
    """A bound of 36.9 GB/s stood above a list that said 26.6: it takes the fastest sample (METHOD 16)."""
    row = next(row for row in local.floor if row["quantity"] == "copy")
    text = next(text for name, text in floor_facts(local) if ": copy" in name)
    assert "; the fastest sample, which lower bounds take, " in text
    assert text.count("GB/s") == 2
    assert row["value"] is not None
    assert row["best"] is not None
    assert row["best"] >= row["value"]
