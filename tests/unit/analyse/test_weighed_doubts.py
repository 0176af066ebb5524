# SPDX-License-Identifier: BSD-3-Clause
"""A doubt is weighed by what it could do to the answer: it forbids a claim that it could make, and no other."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from weft.analyse.doubts import doubts, quality
from weft.analyse.floor import Floor
from weft.analyse.scaling import verdict
from weft.analyse.tables.answers import VerdictRow
from weft.analyse.tables.claims import grade_of

Row = dict[str, Any]
LAUNCHES = 4


def point(nodes: int, seconds: float, *, bound: float, disturbed: int = 0) -> Row:
    """A row of 100 samples in four launches whose medians lie within 2 %."""
    low, high = 0.99 * seconds, 1.01 * seconds
    return {
        "cell": f"c{nodes}", "series": ["s"], "call": "C", "phase": "warm", "status": "ok", "reason": "", "m": None,
        "nodes": nodes, "ranks_per_node": 2, "ranks": 2 * nodes, "oversubscribed": False, "samples": 100,
        "disturbed": disturbed, "lost_s": seconds / 2, "lost_by": "delay",
        "discarded": 0, "launches": LAUNCHES, "batch": 1, "median_s": seconds, "low_s": low, "high_s": high,
        "min_s": low, "p5_s": low, "p95_s": high, "p99_s": high, "max_s": high, "mean_s": seconds,
        "launch_low_s": low, "launch_high_s": high, "interval": "range of launches", "bound_s": bound,
        "bound": "injection",
    }  # fmt: skip


def medians(row: Row, clean: float | None = None) -> list[Row]:
    """Its launches; ``clean`` is the least median of each: by default nothing is known of disturbed ones."""
    times = [row["low_s"], row["median_s"], row["median_s"], row["high_s"]]
    disturbed = row["disturbed"] // 4
    return [
        {
            "cell": row["cell"], "call": "C", "phase": "warm", "launch": launch,
            "samples": row["samples"] // 4, "disturbed": disturbed, "median_s": seconds,
            "least_s": clean if clean is not None else 0.0 if disturbed else seconds,
        }
        for launch, seconds in enumerate(times, 1)
    ]  # fmt: skip


def cells(row: Row, *, stolen: tuple[float, ...] = (), **changes: Any) -> list[Row]:
    """A second of each launch, in which the hypervisor took a share."""
    return [
        {
            "cell": row["cell"], "launch": launch, "swap_in_pages": 0, "swap_out_pages": 0, "wall_ns": 10**9,
            "steal_ns": round(1e9 * (stolen[launch - 1] if stolen else 0)), "warnings": [],
        }
        | changes
        for launch in range(1, LAUNCHES + 1)
    ]  # fmt: skip


def told(rows: list[Row], launches: list[Row], measured: list[Row], kind: Any = "weak") -> VerdictRow:
    given_rows: Any = rows
    given_launches: Any = launches
    given_cells: Any = measured
    against = doubts(given_rows, given_launches, given_cells, Floor([]))
    return verdict(given_rows, "s", kind, "C", doubts=against)


def rise(factor: float, *, bound: float, clean: float | None = None, disturbed: int = 0, **cell: Any) -> VerdictRow:
    """A rise from 1 s to ``factor`` whose end may be disturbed, and whose bound is a share of its time."""
    first, last = point(1, 1.0, bound=0.1), point(4, factor, bound=bound * factor, disturbed=disturbed)
    return told([first, last], [*medians(first), *medians(last, clean)], [*cells(first), *cells(last, **cell)])


def test_a_doubt_says_how_many_samples_were_disturbed_and_by_how_much() -> None:
    """Launches whose medians may be anything: in one of them others may have taken half of the time."""
    first, last = point(1, 1.0, bound=0.1), point(4, 1.2, bound=0.12, disturbed=50)
    launches = [*medians(first), *medians(last, 1.2)]
    launches[-2] |= {"least_s": 0.6}
    found = told([first, last], launches, [*cells(first), *cells(last)])
    assert found["doubts"] == ["lost"]
    assert "50 of 100 samples, up to 600 ms" in found["doubt"]
    flagged = last | {"lost_by": "switches"}
    assert "no schedstat" in told([first, flagged], launches, [*cells(first), *cells(last)])["doubt"]


ALL = (0.02,) * LAUNCHES


@pytest.mark.parametrize(
    ("factor", "stolen", "turns"),
    [
        (169.0, ALL, False),  # what a newcomer's run on a calm machine was refused for
        (1.5, ALL, False),  # at most 4 % of the median
        (1.05, ALL, True),  # 2 % of rise beyond the intervals: theft may have made all of it
        (1.05, (0.02, 0, 0, 0), True),  # of four launches the interval is the range, and begins at any of them
        (2.0, (0.4,) * LAUNCHES, True),
    ],
)
def test_stolen_time_forbids_a_rise_that_it_could_make_and_no_other(
    factor: float, stolen: tuple[float, ...], turns: bool
) -> None:
    found = rise(factor, bound=0.1, stolen=stolen)
    assert found["doubts"] == (["steal"] if turns else [])
    assert ("CPU steal" in found["doubt"]) is turns
    assert found["outcome"] == "rises"


@pytest.mark.parametrize(
    ("bound", "clean", "turns"),
    [
        (0.86, None, False),  # disturbed or not, a link needed most of that time
        (0.1, None, True),
        (0.1, 2.0, False),  # without what was lost it is the same
        (0.1, 1.0, True),  # they say that there is no rise
    ],
)
def test_disturbed_samples_count_by_how_far_they_move_the_median(
    bound: float, clean: float | None, turns: bool
) -> None:
    found = rise(2.0, bound=bound, clean=clean, disturbed=100 if clean is None else 60)
    assert found["doubts"] == (["lost"] if turns else [])


@pytest.mark.parametrize(
    ("doubt", "changes"),
    [
        ("swap", {"swap_in_pages": 1}),
        ("core", {"warnings": ["two ranks on one core: 0 and 1"]}),
    ],
)
def test_what_took_nobody_knows_how_much_leaves_the_lower_bound(doubt: str, changes: Row) -> None:
    assert rise(2.0, bound=0.1, **changes)["doubts"] == [doubt]
    assert rise(2.0, bound=0.86, **changes)["doubts"] == []
    assert rise(2.0, bound=0.0, **changes)["doubts"] == [doubt]


def test_a_warning_of_the_kernel_forbids_any_claim_on_its_cell() -> None:
    assert rise(169.0, bound=0.9, warnings=["something odd"])["doubts"] == ["kernel"]


def test_two_doubts_that_turn_an_answer_only_together_forbid_it_together() -> None:
    assert rise(1.08, bound=0.1, stolen=ALL)["doubts"] == []
    assert rise(1.08, bound=0.1, clean=1.04, disturbed=60)["doubts"] == []
    assert rise(1.08, bound=0.1, clean=1.04, disturbed=60, stolen=ALL)["doubts"] == ["steal", "lost"]


def test_a_disturbed_start_forbids_a_fall_that_it_could_make() -> None:
    first, last = point(1, 2.0, bound=0.1, disturbed=60), point(4, 1.0, bound=0.1)
    for clean, turns in ((1.0, True), (1.9, False)):
        found = told([first, last], [*medians(first, clean), *medians(last)], [], kind="strong")
        assert (found["outcome"], found["doubts"]) == ("falls", ["lost"] if turns else [])


def test_a_no_is_forbidden_where_the_start_may_have_been_shorter() -> None:
    first, last = point(1, 1.0, bound=0.1, disturbed=100), point(4, 1.02, bound=0.1)
    found = told([first, last], [*medians(first), *medians(last)], [])
    assert found["doubts"] == ["lost"]


def test_a_doubt_about_a_time_that_no_answer_rests_on_forbids_nothing() -> None:
    first, middle, last = (point(n, float(n), bound=0.1, disturbed=100 if n == 2 else 0) for n in (1, 2, 4))
    rows = [first, middle, last]
    found = told(rows, [each for row in rows for each in medians(row)], cells(middle, swap_in_pages=9))
    assert found["doubts"] == []


@given(st.floats(0.2, 5.0), st.lists(st.floats(0, 0.6), min_size=4, max_size=4), st.floats(0, 1), st.booleans())
def test_more_theft_never_makes_a_doubted_claim_sure(
    factor: float, stolen: list[float], bound: float, disturbed: bool
) -> None:
    less = tuple(share / 2 for share in stolen)
    before, after = (
        rise(factor, bound=bound, stolen=each, disturbed=100 if disturbed else 0) for each in (less, tuple(stolen))
    )
    assert not before["doubts"] or after["doubts"]


def graded(answer: VerdictRow | None, rows: list[Row], measured: list[Row]) -> Any:
    given_rows: Any = rows
    given_cells: Any = measured
    return quality(given_rows, given_cells, Floor([]), 0.05, answer=answer)


def test_the_quality_of_a_run_follows_what_its_doubts_could_do_to_its_answer() -> None:
    """Interrupted samples in all rows and theft in a quarter of the cells: "not shown", of a rise of 169 times."""
    first, last = point(1, 1.0, bound=0.1), point(4, 169.0, bound=0.9 * 169, disturbed=100)
    measured = [*cells(first) * 4, *cells(last, stolen=(0.03,) * LAUNCHES)]
    sure = told([first, last], [*medians(first), *medians(last)], measured)
    found = graded(sure, [last, last], measured)
    assert [(each["doubt"], each["grade"]) for each in found] == [("steal", "B"), ("lost", "B")]
    assert grade_of(graded(None, [last, last], measured)) == "C", "without a verdict, by how much is touched"
    close = point(4, 1.05, bound=0.1)
    near = told([first, close], [*medians(first), *medians(close)], measured)
    found = graded(near, [first, close], measured)
    assert found[0]["grade"] == "C"


def test_a_doubt_that_turns_the_answer_lowers_the_quality_however_little_it_touches() -> None:
    row = point(4, 1.05, bound=0.1)
    near = rise(1.05, bound=0.1, stolen=ALL)
    [found] = graded(near, [row] * 50, [])
    assert (found["doubt"], found["grade"]) == ("steal", "C")
