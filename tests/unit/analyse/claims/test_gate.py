# SPDX-License-Identifier: BSD-3-Clause
"""The gate: what the quality of a run lets it claim, in one place."""

from typing import Any

import pytest

from weft.analyse.claims.make import UNFITTED, judge
from weft.analyse.tables.claims import ClaimRow, Doubt, Grade, QualityRow, claims_of, make_claim


def quality(grade: Grade, doubt: Doubt = "steal") -> list[QualityRow]:
    if grade == "A":
        return []
    return [
        QualityRow(
            doubt=doubt, grade=grade, count=1, of=1, share=1.0, noun="rows", worst=None, launches=None, turns=""
        )
    ]  # fmt: skip


def proposed(**changes: Any) -> list[ClaimRow]:
    """An answer, its bottleneck, a remedy, an outlier that was weighed, and a finding."""
    return [
        make_claim("contention.network-bound", "answer", "weak scaling", 4.0, "factor", (3.9, 4.1), **changes),
        make_claim("bottleneck.uplink", "breakdown", "link leaf0 up", 0.79, "share"),
        make_claim("remedy.second-cable", "remedy", "leaf0 up", 0.36, "share"),
        make_claim("outlier.cable", "answer", "leaf2 - spine0", 4.64, "factor", confidence="B"),
        make_claim("finding.wide", "finding", "A warm", 3, "count", level="warning", what="w", remedy="r"),
    ]


@pytest.mark.parametrize("grade", ["A", "B"])
def test_a_good_run_claims_everything_with_its_grade(grade: Grade) -> None:
    judged = judge(proposed(), quality(grade))
    assert [each["id"] for each in judged] == [each["id"] for each in proposed()]
    assert judged[0]["confidence"] == grade
    assert [each["rank"] for each in claims_of(judged, "answer")] == [0, 1]


@pytest.mark.parametrize("grade", ["C", "D"])
def test_a_doubtful_run_keeps_its_number_and_names_neither_cause_nor_remedy(grade: Grade) -> None:
    judged = judge(proposed(), quality(grade))
    assert [each["id"] for each in judged] == ["contention.inconclusive", "outlier.cable", "finding.wide"]
    assert (judged[0]["value"], judged[0]["confidence"]) == (4.0, grade)


@pytest.mark.parametrize("grade", ["C", "D"])
def test_an_outlier_that_no_disturbance_could_have_made_stands(grade: Grade) -> None:
    """Issue 28.2: a tenfold cable was "Not shown" because of other work at the start."""
    [outlier] = [each for each in judge(proposed(), quality(grade)) if each["id"] == "outlier.cable"]
    assert (outlier["value"], outlier["confidence"]) == (4.64, "B")


def test_a_model_to_which_nothing_was_fitted_has_a_range_and_no_point() -> None:
    """Issue 28.11: it was quality A while published machines are off by up to 94 %."""
    answer = judge(proposed(), quality("C", "model"))[0]
    assert (answer["id"], answer["value"], answer["confidence"]) == ("contention.network-bound", None, "C")
    assert (answer["low"], answer["high"]) == pytest.approx((4.0 / UNFITTED, 4.0 * UNFITTED))
    wide = make_claim("contention.network-bound", "answer", "weak scaling", 40.0, "factor", (4.0, 400.0))
    [kept] = judge([wide], quality("C", "model"))
    assert (kept["low"], kept["high"]) == (4.0, 400.0), "the range of its rows has all that is not known"


def test_a_range_that_does_not_bear_the_answer_leaves_it_inconclusive() -> None:
    near = make_claim("contention.network-bound", "answer", "weak scaling", 1.5, "factor")
    assert judge([near], quality("C", "model"))[0]["id"] == "contention.inconclusive"
    assert judge([near], quality("B", "fitted"))[0] | {"rank": 0} == near | {"confidence": "B"}
