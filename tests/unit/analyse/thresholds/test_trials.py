# SPDX-License-Identifier: BSD-3-Clause
"""A change-over is confirmed only where it moved with the knob, and the gain is told with the line that sets it."""

import math
from collections.abc import Callable
from dataclasses import replace
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest

from weft.analyse.remedies import knob_remedies
from weft.analyse.tables.answers import ChangeRow, cause_text
from weft.analyse.tables.sweeps import TrialRow
from weft.analyse.tables.times import CallRow
from weft.analyse.thresholds.trials import gain_text, gains, quieter, remedy, trial_rows, with_trials
from weft.kernel.sizes import op_name
from weft.plan.records import Plan
from weft.plan.trials import Trial, far_value

RIGHT, WRONG = "btl_vader_eager_limit", "coll_tuned_alltoall_intermediate_msg"
TRIAL = Trial("c007", "alltoall", 3756, 4096, RIGHT, 4096, 5792)
FAR = replace(TRIAL, far=16384)


def limit_at(limit: int, step: float = 2.0) -> Callable[[int], float]:
    """Seconds by size, with a step where messages begin to ask."""
    return lambda size: (1e-6 + size / 4e9) * (step if size > limit else 1.0)


def scaled(factor: float) -> Callable[[int], float]:
    """Everything takes another time."""
    return lambda size: factor * limit_at(4096)(size)


def smooth(size: int) -> float:
    """No step at all."""
    return (1e-6 + size / 4e9) * 1.3


def change(factor: float = 2.0) -> ChangeRow:
    return ChangeRow(
        cell="c007", call="alltoall", nodes=1, ranks=2, lower=3756, upper=4096, surely_lower=3756, surely_upper=4096,
        lower_s=1e-6, upper_s=2e-6, algorithm_before="", algorithm_after="", kind="jump", factor=factor,
        low=0.9 * factor, high=1.1 * factor, before_rate=None, after_rate=None, confidence=1.0,
        knobs=[WRONG, RIGHT], knob_values=[4096, 4096], knob_value=4096, knob_meaning="the algorithm",
        usual_knob="", eager_limit=False, confirmed="", refuted=[],
    )  # fmt: skip


def made(*trials: Trial) -> Plan:
    """A stand-in of the plan of the trials: the usual cell and one for each knob."""
    far = [{"far": vars(trial)} for trial in trials if trial.far]
    told = [{"cell": "c007"}, *(vars(trial) for trial in trials), *far]
    cells = [SimpleNamespace(id=f"c{place:03}", parameters={"trial": each}) for place, each in enumerate(told)]
    return cast(Plan, SimpleNamespace(cells=cells))


def medians(
    cells: dict[str, Callable[[int], float]], noise: float = 0.05, rounds: int = 9, seed: int = 1, trial: Trial = TRIAL
) -> list[Any]:
    rng = np.random.default_rng(seed)
    found: list[Any] = []
    for cell, curve in cells.items():
        for launch in range(1, rounds + 1):
            offset = math.exp(2 * noise * rng.standard_normal())  # a launch is slower as a whole
            for size in (size for zone in (*trial.sizes, trial.far_sizes) for size in zone):
                seconds = curve(size) * offset * math.exp(noise * abs(rng.standard_normal()))
                row = {"cell": cell, "call": op_name("alltoall", size), "phase": "warm", "launch": launch}
                found.append(row | {"median_s": seconds, "min_s": seconds, "samples": 20, "least_s": seconds})
    return found


def judged(moved: Callable[[int], float], **how: Any) -> TrialRow:
    rows = trial_rows([change()], made(TRIAL), medians({"c000": limit_at(4096), "c001": moved}, **how))
    assert len(rows) == 1
    return rows[0]


def test_the_knob_that_takes_the_step_along_is_confirmed_with_its_gain_and_the_line_that_sets_it() -> None:
    row = judged(limit_at(5792))
    assert row["outcome"] == "confirmed"
    assert row["old"] == pytest.approx(0.5, rel=0.1)
    assert row["new"] == pytest.approx(2.0, rel=0.1)
    assert row["setting"] == "OMPI_MCA_btl_vader_eager_limit=5792"
    text = gain_text(row)
    assert text.startswith("with OMPI_MCA_btl_vader_eager_limit=5792 sizes from ")
    assert "take 0.5" in text
    assert text.endswith("of the time: set it")


@pytest.mark.parametrize(
    ("moved", "why"),
    [
        (limit_at(4096), "the step at 4 KiB stayed"),  # a knob without effect
        (scaled(0.6), "the step at 4 KiB stayed"),  # everything is faster
        (smooth, "but none came at 5,792 B"),  # the step went for good
        (limit_at(4096, 1.8), "the step at 4 KiB stayed"),  # it is a little smaller
        (limit_at(3000), "the step at 4 KiB went, but none came at 5,792 B"),  # it moved, elsewhere
    ],
)
def test_a_knob_with_which_the_point_does_not_move_is_not_confirmed(moved: Callable[[int], float], why: str) -> None:
    row = judged(moved)
    assert row["outcome"] == "not confirmed"
    assert why in row["why"]


def test_a_knob_without_effect_is_confirmed_in_none_of_two_hundred_noisy_runs() -> None:
    assert not [seed for seed in range(200) if judged(limit_at(4096), noise=0.2, seed=seed)["outcome"] == "confirmed"]


def test_the_right_knob_is_confirmed_in_nineteen_of_twenty_noisy_runs() -> None:
    found = [judged(limit_at(5792), noise=0.1, seed=seed)["outcome"] for seed in range(100)]
    assert found.count("confirmed") >= 95


def test_one_round_that_was_disturbed_throughout_does_not_decide() -> None:
    rows = medians({"c000": limit_at(4096), "c001": limit_at(5792)})
    for row in rows:
        if (row["cell"], row["launch"]) == ("c001", 4):
            row["median_s"] *= 500 if int(row["call"].split("@")[1]) > 5792 else 1
    (found,) = trial_rows([change()], made(TRIAL), rows)
    assert found["outcome"] == "confirmed"


def test_times_of_which_others_may_have_taken_half_are_left_out() -> None:
    rows = medians({"c000": limit_at(4096), "c001": limit_at(5792)})
    for row in rows:
        row["least_s"] = row["median_s"] * (0.4 if row["launch"] > 3 else 0.6)
    (found,) = trial_rows([change()], made(TRIAL), rows)
    assert (found["outcome"], found["rounds"]) == ("not measured", 3)


def test_a_limit_may_be_lowered() -> None:
    down = replace(TRIAL, moved=2896)
    cells = {"c000": limit_at(4096, 0.5), "c001": limit_at(2896, 0.5)}
    sizes = {size for zone in down.sizes for size in zone}
    assert sizes.isdisjoint({size for zone in TRIAL.sizes for size in zone} - sizes)
    rows: list[Any] = []
    for cell, curve in cells.items():
        for launch in range(1, 10):
            rows += [
                {"cell": cell, "call": op_name("alltoall", size), "phase": "warm", "launch": launch, "samples": 9}
                | {"median_s": curve(size), "min_s": curve(size), "least_s": curve(size)}
                for size in sizes
            ]
    (found,) = trial_rows([change(0.5)], made(down), rows)
    assert found["outcome"] == "confirmed"
    assert found["ratio"] == pytest.approx(0.5)
    assert quieter(down, "c001", "c000", rows).between == pytest.approx([math.log(0.5)] * 9)


def test_a_confirmed_knob_stands_alone_and_first_and_a_wrong_one_is_told_as_such() -> None:
    curves = {"c000": limit_at(4096), "c001": limit_at(5792), "c002": limit_at(4096)}
    trials = trial_rows([change()], made(TRIAL, replace(TRIAL, knob=WRONG)), medians(curves))
    (told,) = with_trials([change()], trials)
    assert (told["confirmed"], told["refuted"], told["knobs"][0]) == (RIGHT, [WRONG], RIGHT)
    assert told["eager_limit"]
    assert cause_text(told).endswith(f"{RIGHT} (4,096 B), confirmed")
    assert remedy(told, trials).endswith("of the time: set it")


def test_without_the_right_one_the_wrong_one_is_not_named_as_a_cause() -> None:
    trials = trial_rows(
        [change()], made(replace(TRIAL, knob=WRONG)), medians({"c000": limit_at(4096), "c001": limit_at(4096)})
    )
    (told,) = with_trials([change()], trials)
    assert told["confirmed"] == ""
    assert cause_text(told).endswith(f"perhaps {RIGHT} (4,096 B); not confirmed: {WRONG}")
    assert "did not move with these" in remedy(told, trials)


def test_a_knob_that_costs_time_is_confirmed_and_left_alone() -> None:
    row = judged(limit_at(5792)) | {"ratio": 1.4, "ratio_low": 1.3, "ratio_high": 1.5}
    assert gain_text(cast(TrialRow, row)).endswith("times as long: leave it")


def test_a_trial_still_belongs_to_its_change_over_when_more_launches_have_moved_the_gap() -> None:
    moved = change() | {"lower": 4000, "upper": 4467}
    rows = medians({"c000": limit_at(4096), "c001": limit_at(5792)})
    (row,) = trial_rows([cast(ChangeRow, moved)], made(TRIAL), rows)
    assert (row["lower"], row["upper"], row["outcome"]) == (4000, 4467, "confirmed")
    (told,) = with_trials([cast(ChangeRow, moved)], [row])
    assert told["confirmed"] == RIGHT


def judged_far(moved: Callable[[int], float], away: Callable[[int], float], **how: Any) -> TrialRow:
    curves = {"c000": limit_at(4096), "c001": moved, "c002": away}
    (row,) = trial_rows([change()], made(FAR), medians(curves, trial=FAR, **how))
    return row


def test_the_gain_is_that_of_the_far_value_over_all_sizes_up_to_it() -> None:
    row = judged_far(limit_at(5792), limit_at(16384))
    assert (row["outcome"], row["far_setting"]) == ("confirmed", f"OMPI_MCA_{RIGHT}=16384")
    assert (row["far_first"], row["far_last"]) == (FAR.far_sizes[0], FAR.far_sizes[-1])
    assert row["far_ratio"] == pytest.approx(0.5, rel=0.1)
    assert "with OMPI_MCA_btl_vader_eager_limit=16384 sizes from" in gain_text(row)


def test_a_far_value_that_costs_time_is_not_advised_but_the_near_one_is() -> None:
    """Far away, what the knob avoids may be cheaper than what it brings."""
    row = judged_far(limit_at(5792), lambda size: 2.6 * limit_at(16384)(size))
    assert row["far_ratio"] == pytest.approx(1.3, rel=0.1)
    assert gain_text(row).startswith(f"with OMPI_MCA_{RIGHT}=5792 sizes from ")
    assert gain_text(row).endswith("of the time: set it")


def test_a_wrong_knob_whose_far_value_also_moves_nothing_is_not_confirmed_and_saves_nothing() -> None:
    rows = [judged_far(limit_at(4096), limit_at(4096), noise=0.1, seed=seed) for seed in range(100)]
    assert {row["outcome"] for row in rows} == {"not confirmed"}
    assert knob_remedies(rows, [swept(size) for size in FAR.far_sizes], modelled=False) == []


def test_a_wrong_knob_with_which_all_is_faster_far_away_is_still_not_confirmed() -> None:
    """A launch that is faster throughout, by luck or by another cause, moves no step."""
    row = judged_far(limit_at(4096), scaled(0.5))
    assert row["far_ratio"] == pytest.approx(0.5, rel=0.1)
    assert knob_remedies([row], [swept(size) for size in FAR.far_sizes], modelled=False) == []


def test_a_far_value_of_too_few_rounds_tells_nothing() -> None:
    rows = medians({"c000": limit_at(4096), "c001": limit_at(5792), "c002": limit_at(16384)}, trial=FAR)
    few = [row for row in rows if row["cell"] != "c002" or row["launch"] <= 3]
    (row,) = trial_rows([change()], made(FAR), few)
    assert (row["outcome"], row["far"], row["far_ratio"]) == ("confirmed", 16384, None)
    assert [each.setting for each in gains(row)] == [f"OMPI_MCA_{RIGHT}=5792"]


def swept(size: int, call: str = "alltoall") -> CallRow:
    row = {"cell": "c007", "call": op_name(call, size), "phase": "warm", "status": "ok", "nodes": 1, "ranks": 2}
    return cast(CallRow, row | {"median_s": limit_at(4096)(size)})


def test_a_confirmed_knob_helps_the_slowest_call_among_the_sizes_it_was_measured_at() -> None:
    row = judged_far(limit_at(5792), limit_at(16384))
    calls = [swept(size) for size in (1024, 5000, 8192, 11000, 65536)] + [swept(12000, "bcast")]
    (helps,) = knob_remedies([row], calls, modelled=False)
    assert (helps["call"], helps["setting"]) == ("alltoall@11000", f"OMPI_MCA_{RIGHT}=16384")
    assert helps["saves_s"] == pytest.approx(helps["seconds"] / 2, rel=0.1)
    assert helps["basis"] == "measured"
    assert knob_remedies([row], [swept(65536)], modelled=False) == []


@pytest.mark.parametrize(
    ("value", "moved", "most", "far"),
    [(4096, 5792, 16384, 16384), (4096, 5792, 12000, 0), (4096, 2896, 16384, 1024), (2048, 1448, 16384, 0)],
)
def test_a_far_value_lies_within_the_sweep_and_above_the_headers(value: int, moved: int, most: int, far: int) -> None:
    assert far_value(value, moved, [1024, most]) == far
