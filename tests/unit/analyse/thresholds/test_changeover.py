# SPDX-License-Identifier: BSD-3-Clause
"""Change-overs: none in a smooth curve, the planted one within a step of its place, told with what happens there."""

from collections.abc import Iterable
from typing import Any

import numpy as np
import pytest

from made.sizes import (
    Curve,
    drawn,
    latency_and_rate,
    made_series,
    made_tables,
    out_of_cache,
    overlapped,
    sizes_of,
    step_of,
    with_jump,
)
from weft.analyse.tables.answers import factor_text
from weft.analyse.tables.times import CallRow, MedianRow
from weft.analyse.thresholds.changes import ChangeOver, find_steps_and_bends
from weft.analyse.thresholds.series import Pieces, make_series, size_series
from weft.analyse.thresholds.switches import slower_than_double

SERIES = 200


def find_change_overs(rows: Iterable[CallRow], medians: Iterable[MedianRow]) -> list[ChangeOver]:
    """Change-overs of every series of the tables of calls and medians."""
    return [found for series in size_series(rows, medians) for found in find_steps_and_bends(series)]


def alarms(family: object, grid: str, noise: float, launches: int, outliers: float = 0.0) -> tuple[int, int]:
    """Of 200 smooth series: those with any change-over, and those with a jump."""
    rng = np.random.default_rng(20261122)
    found: list[list[ChangeOver]] = []
    for _ in range(SERIES):
        curve: Curve = family(rng)  # type: ignore[operator]
        sizes = sizes_of(grid, drawn(rng, 6, 18))
        found.append(find_steps_and_bends(made_series(rng, curve, sizes, noise, launches, outliers)))
    return sum(map(bool, found)), sum(any(change.kind == "jump" for change in changes) for changes in found)


@pytest.mark.parametrize(
    ("grid", "noise", "launches"),
    [
        pytest.param("octaves", 0.01, 3, marks=pytest.mark.long),
        ("octaves", 0.05, 3),
        pytest.param("octaves", 0.05, 1, marks=pytest.mark.long),
        pytest.param("short", 0.05, 1, marks=pytest.mark.long),
        pytest.param("halves", 0.03, 10, marks=pytest.mark.long),
        pytest.param("halves", 0.05, 3, marks=pytest.mark.long),
        pytest.param("refined", 0.01, 3, marks=pytest.mark.long),
        pytest.param("refined", 0.05, 3, marks=pytest.mark.long),
        ("refined", 0.05, 1),
    ],
)
def test_a_smooth_series_gives_a_false_alarm_at_most_once_in_twenty(grid: str, noise: float, launches: int) -> None:
    assert alarms(latency_and_rate, grid, noise, launches)[0] <= SERIES / 20


@pytest.mark.long
@pytest.mark.parametrize("grid", ["octaves", pytest.param("refined", marks=pytest.mark.long)])
def test_a_launch_that_was_disturbed_is_no_change_over(grid: str) -> None:
    assert alarms(latency_and_rate, grid, 0.02, 3, outliers=0.05)[0] <= SERIES / 20


@pytest.mark.parametrize("family", [overlapped, out_of_cache])
@pytest.mark.parametrize("grid", ["octaves", pytest.param("refined", marks=pytest.mark.long)])
def test_a_curve_that_bends_smoothly_is_never_called_a_jump_more_than_once_in_twenty(family: object, grid: str) -> None:
    assert alarms(family, grid, 0.02, 3)[1] <= SERIES / 20


@pytest.mark.parametrize(
    ("grid", "noise", "launches", "factor"),
    [
        pytest.param("refined", 0.01, 3, 1.15, marks=pytest.mark.long),
        pytest.param("refined", 0.03, 3, 1.15, marks=pytest.mark.long),
        ("refined", 0.05, 3, 1.15),
        pytest.param("refined", 0.05, 1, 1.5, marks=pytest.mark.long),
        pytest.param("octaves", 0.01, 3, 1.15, marks=pytest.mark.long),
        pytest.param("octaves", 0.01, 1, 1.15, marks=pytest.mark.long),
        ("octaves", 0.03, 3, 1.3),
        pytest.param("octaves", 0.05, 10, 1.3, marks=pytest.mark.long),
        pytest.param("halves", 0.03, 3, 1.15, marks=pytest.mark.long),
        ("refined", 0.03, 3, 0.85),
        pytest.param("refined", 0.03, 3, 2.5, marks=pytest.mark.long),
    ],
)
def test_a_planted_jump_is_found_within_a_step_nineteen_times_in_twenty(
    grid: str, noise: float, launches: int, factor: float
) -> None:
    rng = np.random.default_rng(7)
    hits, factors = 0, []
    for _ in range(SERIES):
        planted = drawn(rng)
        sizes = sizes_of(grid, planted)
        series = made_series(rng, with_jump(latency_and_rate(rng), planted, factor), sizes, noise, launches)
        place = step_of(sizes, planted)
        near = [found for found in find_steps_and_bends(series) if abs(sizes.index(found.lower) - place) <= 1]
        hits += bool(near)
        factors += [found.factor for found in near if found.kind == "jump"]
    assert hits >= 0.95 * SERIES
    assert np.median(factors) == pytest.approx(factor, rel=0.03)


def test_two_jumps_in_one_series_are_both_found() -> None:
    rng = np.random.default_rng(11)
    sizes = sizes_of("octaves")
    both = 0
    for _ in range(SERIES):
        curve = with_jump(with_jump(latency_and_rate(rng), 256, 1.4), 32768, 0.7)
        found = find_steps_and_bends(made_series(rng, curve, sizes, 0.02))
        both += [change.lower for change in found if change.kind == "jump"] == [256, 32768]
    assert both >= 0.95 * SERIES


@pytest.mark.parametrize("beyond", [1, 2])
@pytest.mark.parametrize("factor", [0.03, 0.4, 3.0, 30.0])
@pytest.mark.parametrize("first", [False, True])
def test_a_step_next_to_an_end_hides_no_change_over_and_none_is_told_in_a_wrong_place(
    first: bool, factor: float, beyond: int
) -> None:
    """Messages of one or two bytes go another way, or the last sizes no longer fit a buffer: too few for a piece."""
    rng = np.random.default_rng(23)
    sizes = sizes_of("octaves")
    found: list[list[int]] = []
    for _ in range(20):
        middle = with_jump(latency_and_rate(rng), 4096, 2.2)
        edge = sizes[beyond - 1] if first else sizes[-1 - beyond]
        series = made_series(rng, with_jump(middle, edge, factor), sizes, 0.01, launches=4)
        found.append([change.lower for change in find_steps_and_bends(series) if change.kind == "jump"])
    assert found.count([4096]) >= 19


def test_a_jump_is_told_with_its_sizes_its_factor_and_the_rates_on_either_side() -> None:
    rng = np.random.default_rng(3)

    def eager_then_rendezvous(size: float) -> float:
        return 1e-6 + size / 2e9 if size <= 4096 else 4e-6 + size / 8e9

    (found,) = find_steps_and_bends(made_series(rng, eager_then_rendezvous, sizes_of("refined", 4096), 0.005))
    assert (found.lower, found.upper, found.kind) == (4096, 4466, "jump")
    expected = eager_then_rendezvous(4280) / (1e-6 + 4280 / 2e9)
    assert found.low <= expected <= found.high
    assert found.factor == pytest.approx(expected, rel=0.02)
    assert found.before_rate == pytest.approx(2e9, rel=0.03)
    assert found.after_rate == pytest.approx(8e9, rel=0.03)
    assert found.confidence > 0.999
    assert found.surely_lower <= 4096 < found.surely_upper


def test_a_kink_without_a_step_is_a_bend_and_its_place_is_among_the_sure_ones() -> None:
    rng = np.random.default_rng(5)
    hits = 0
    for _ in range(SERIES):
        planted = 2 ** int(rng.integers(15, 18))
        latency = 10 ** rng.uniform(-6.5, -5.5)

        def kinked(size: float, latency: float = latency, planted: int = planted) -> float:
            return latency + min(size, planted) / 8e9 + max(0.0, size - planted) / 4e9

        found = find_steps_and_bends(made_series(rng, kinked, sizes_of("octaves"), 0.01))
        hits += any(change.kind == "bend" and change.surely_lower <= planted <= change.surely_upper for change in found)
        assert {(change.factor, change.low, change.high) for change in found if change.kind == "bend"} <= {(None,) * 3}
    assert hits >= 0.95 * SERIES


@pytest.mark.parametrize(
    ("kind", "factor", "text"),
    [("bend", None, "–"), ("switch", None, "cannot be judged"), ("switch", 1.0, "1.00"), ("jump", 1.5, "1.50")],
)
def test_a_bend_has_no_step_to_print_and_a_switch_beside_a_short_stretch_says_so(
    kind: str, factor: float | None, text: str
) -> None:
    """A bend was listed with "Step x 0.999" and a confidence of more than 99.9 %."""
    row: Any = {"kind": kind, "factor": factor, "low": factor, "high": factor}
    assert factor_text(row) == text


def test_one_size_that_stands_out_alone_is_no_change_over() -> None:
    rng = np.random.default_rng(13)
    quiet = 0
    for _ in range(SERIES):
        curve = latency_and_rate(rng)
        spiked = drawn(rng)
        sizes = sizes_of("octaves")
        there = sizes[step_of(sizes, spiked)]
        series = made_series(
            rng, lambda size, curve=curve, there=there: curve(size) * (1.6 if size == there else 1), sizes, 0.02
        )
        quiet += not find_steps_and_bends(series)
    assert quiet >= 0.95 * SERIES


def test_a_simulated_series_has_one_launch_and_no_noise() -> None:
    rng = np.random.default_rng(1)
    curve = with_jump(lambda size: 2e-6 + size / 1e9, 65536, 1.2)
    (found,) = find_steps_and_bends(made_series(rng, curve, sizes_of("octaves"), 0.0, launches=1))
    assert (found.lower, found.upper) == (65536, 131072)


@pytest.mark.long
def test_on_a_crowded_machine_the_fastest_samples_are_read() -> None:
    """Two samples of three wait for a core: medians of launches differ tenfold, their fastest samples do not."""
    rng = np.random.default_rng(17)
    hits, alarms = 0, 0
    for _ in range(SERIES):
        planted = drawn(rng)
        sizes = sizes_of("refined", planted)
        curve = latency_and_rate(rng)
        crowd = made_tables(rng, with_jump(curve, planted, 1.5), sizes, 0.02, crowded=0.67)
        (series,) = size_series(*crowd)
        assert series.statistic == "fastest"
        hits += any(
            abs(sizes.index(found.lower) - step_of(sizes, planted)) <= 1 for found in find_steps_and_bends(series)
        )
        alarms += bool(find_change_overs(*made_tables(rng, curve, sizes, 0.02, crowded=0.67)))
    assert hits >= 0.95 * SERIES
    assert alarms <= SERIES / 20


def test_on_a_quiet_machine_the_medians_are_read() -> None:
    rng = np.random.default_rng(18)
    (series,) = size_series(*made_tables(rng, latency_and_rate(rng), sizes_of("octaves"), 0.03))
    assert series.statistic == "median"


def test_a_launch_that_was_interrupted_in_every_sample_of_a_size_is_not_read_there() -> None:
    """One disturbed sample of 500 us was all that a launch had of a size of 1 us: the scatter hid every step."""
    rng = np.random.default_rng(19)
    hits = 0
    for _ in range(SERIES // 4):
        planted = drawn(rng)
        sizes = sizes_of("refined", planted)
        rows, medians = made_tables(rng, with_jump(latency_and_rate(rng), planted, 1.5), sizes, 0.02, launches=5)
        for row in medians:
            interrupted = rng.random() < 0.2
            row["least_s"] = 0.9 * row["median_s"]
            if interrupted:
                row |= {"least_s": 0.0, "median_s": 500 * row["median_s"], "min_s": 500 * row["min_s"]}
        hits += any(
            abs(sizes.index(found.lower) - step_of(sizes, planted)) <= 1 for found in find_change_overs(rows, medians)
        )
    assert hits >= 0.95 * (SERIES // 4)


def test_where_everything_was_interrupted_everything_is_read() -> None:
    """Ranks that yield their core are disturbed in every sample."""
    rng = np.random.default_rng(20)
    curve = with_jump(lambda size: 1e-6 + size / 1e9, 4096, 2.0)
    rows, medians = made_tables(rng, curve, sizes_of("octaves"), 0.01)
    disturbed = [row | {"least_s": 0.0} for row in medians]
    assert [found.lower for found in find_change_overs(rows, disturbed)] == [4096]


@pytest.mark.long
def test_a_size_in_the_midst_of_a_step_does_not_hide_it() -> None:
    """MPICH's cell of 4544 B: 4467 B took half of the step that 4871 B took in full, and two bends were found."""
    rng = np.random.default_rng(21)
    hits = 0
    for _ in range(SERIES):
        sizes = sizes_of("refined", 4096)
        half = sizes[sizes.index(4096) + 1]
        curve = latency_and_rate(rng)
        both = with_jump(with_jump(curve, 4096, 1.5), half, 1.4)
        found = find_steps_and_bends(made_series(rng, both, sizes, 0.02))
        hits += any(each.kind == "jump" and each.lower <= half and each.upper >= half for each in found)
    assert hits >= 0.95 * SERIES


def test_a_size_halfway_up_a_step_is_left_out_though_it_lies_on_the_line_between_its_neighbours() -> None:
    """Only that time grows faster than the size on both sides of it tells: without that rule, two bends were found."""
    rng = np.random.default_rng(7)
    hits = 0
    for _ in range(20):
        both = with_jump(with_jump(latency_and_rate(rng), 4096, 2.0), 5792, 2.0)
        found = find_steps_and_bends(made_series(rng, both, sorted([*sizes_of("octaves"), 5792]), 0.01))
        hits += [(each.kind, each.lower, each.upper) for each in found] == [("jump", 4096, 8192)]
    assert hits >= 19


def test_too_few_sizes_give_none() -> None:
    rng = np.random.default_rng(1)
    curve = with_jump(lambda size: 1e-6, 16, 5.0)
    assert find_steps_and_bends(made_series(rng, curve, [1, 2, 32, 64, 128], 0.01)) == []


def test_sizes_slower_than_their_double_are_reported_beyond_the_intervals_alone() -> None:
    rng = np.random.default_rng(2)
    curve = with_jump(lambda size: 1e-6 + size / 1e9, 4096, 0.5)
    series = made_series(rng, curve, sizes_of("octaves"), 0.01)
    assert {slow["size"] for slow in slower_than_double(series)} == {4096}
    (slow,) = slower_than_double(series)
    assert slow["double"] == 8192
    assert slow["seconds"] > slow["double_seconds"]


def test_a_flat_curve_is_slower_than_its_double_half_the_time_and_seldom_surely() -> None:
    rng = np.random.default_rng(2)
    flat = [made_series(rng, lambda size: 1e-6, sizes_of("octaves"), 0.03) for _ in range(SERIES)]
    assert sum(bool(slower_than_double(series)) for series in flat) <= SERIES / 20


def test_series_are_read_from_the_tables_by_cell_and_operation() -> None:
    rng = np.random.default_rng(4)
    curve = with_jump(lambda size: 1e-6 + size / 1e9, 4096, 2.0)
    rows, medians = made_tables(rng, curve, sizes_of("octaves"), 0.01, name="alltoall")
    cold = [row | {"phase": "cold"} for row in rows]
    plain = [row | {"call": "barrier"} for row in rows[:1]]
    failed = [row | {"cell": "c001", "status": "memory", "median_s": None} for row in rows]
    (series,) = size_series([*cold, *rows, *plain, *failed], medians)
    assert (series.cell, series.name, len(series.sizes)) == ("c000", "alltoall", 23)
    (found,) = find_change_overs(rows, medians)
    assert (found.cell, found.call, found.lower, found.upper) == ("c000", "alltoall", 4096, 8192)


def test_sizes_that_only_some_launches_refined_count_with_the_launches_that_have_them() -> None:
    rng = np.random.default_rng(6)
    curve = with_jump(lambda size: 1e-6 + size / 1e9, 4096, 1.5)
    rows, medians = made_tables(rng, curve, sizes_of("refined", 4096), 0.02)
    fewer = [row for row in medians if row["launch"] == 1 or int(row["call"].split("@")[1]).bit_count() == 1]
    assert len(fewer) < len(medians)
    (found,) = find_change_overs(rows, fewer)
    assert found.lower == 4096


def test_the_pieces_are_the_cheapest_of_all_partitions() -> None:
    """Against every partition of a short series, one by one."""
    rng = np.random.default_rng(8)
    sizes = np.array(sizes_of("short"), dtype=float)
    seconds = np.array([1e-6 + size / 1e9 * (2 if size > 512 else 1) for size in sizes])
    seconds *= np.exp(0.02 * rng.standard_normal(len(sizes)))
    fit = Pieces(sizes, seconds, np.full(len(sizes), 0.02))
    for cuts in fit.partitions(3):
        every = [()] if not cuts else [(i,) for i in range(3, 12)] if len(cuts) == 1 else [
            (i, j) for i in range(3, 9) for j in range(i + 3, 12)
        ]  # fmt: skip
        assert fit.cost(cuts) == pytest.approx(min(fit.cost(each) for each in every))


def test_a_piece_gives_latency_and_rate_back() -> None:
    sizes = np.array([2.0**k for k in range(20)])
    piece = Pieces(sizes, 2e-6 + sizes / 5e9, np.full(20, 0.01)).piece(0, 19)
    assert piece.latency_s == pytest.approx(2e-6)
    assert 1 / piece.per_byte_s == pytest.approx(5e9)
    assert piece.at(1e6) == pytest.approx(2e-6 + 2e-4)
    assert 0 < piece.error_at(1e6) / piece.at(1e6) < 0.01


@pytest.mark.parametrize("beyond", [1, 2, 3, 4])
@pytest.mark.parametrize("at_end", [False, True])
def test_a_steep_step_close_to_an_end_is_found_where_three_sizes_lie_beyond_it(beyond: int, at_end: bool) -> None:
    """No rate explains such a step, so a series that cannot be cut there has no fit at all: nothing is said of it."""
    sizes = (3192, 3480, 3792, 4224, 4512, 4816, 5136, 5480, 6048, 6592, 7192)
    last = sizes[-beyond - 1] if at_end else sizes[beyond - 1]
    for seed in range(20):
        curve = with_jump(lambda size: 1e-7 + size / 1e10, last, 4.0)
        found = find_steps_and_bends(made_series(np.random.default_rng(seed), curve, sizes, 0.01, 9))
        if beyond >= 3:
            assert [change.lower for change in found] == [last]
        else:
            assert len(found) <= 1


def test_a_size_of_one_launch_in_four_decides_nothing() -> None:
    """Refining ran out of its budget after one launch, three times as slow: its sizes ended a change-over."""
    sizes = sizes_of("octaves")
    rare = [279, 304, 362]
    times = {size: 2e-7 + size / 5e9 for size in (*sizes, *rare)}
    launches = {k: {size: times[size] for size in sizes} for k in range(4)}
    launches[0] |= {size: 3 * times[size] for size in rare}
    listed = sorted(times)
    rows: list[Any] = [
        {"call": f"send@{size}", "median_s": launches[0][size], "low_s": None, "high_s": None} for size in listed
    ]
    series = make_series("c000", "send", rows, launches)
    assert [size for size, error in zip(listed, series.errors, strict=True) if not np.isfinite(error)] == rare
    assert find_steps_and_bends(series) == []
    launches[1] |= {size: times[size] for size in rare}
    half = make_series("c000", "send", rows, launches)
    assert all(np.isfinite(half.errors)), "half of the launches are enough"


def test_a_gap_ends_at_a_size_beyond_the_step_that_the_fit_leaves_out() -> None:
    """4 KiB took 2.65 us between 696 ns and 3.11 us: the gap was told up to 8 KiB, and a knob of 8 KiB with it."""
    rng = np.random.default_rng(7)

    def curve(size: float) -> float:
        return 2e-7 + size / 8e9 if size < 4096 else 2.3e-6 + size / 11e9 if size > 4096 else 2.2e-6

    series = made_series(rng, curve, sizes_of("octaves"), 0.01, launches=4)
    (found,) = [change for change in find_steps_and_bends(series) if change.kind == "jump"]
    assert (found.lower, found.upper, found.surely_upper) == (2048, 4096, 4096)
