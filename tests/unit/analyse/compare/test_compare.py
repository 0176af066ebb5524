# SPDX-License-Identifier: BSD-3-Clause
"""Comparing runs: what is matched, what is called a difference, how often wrongly, and how often one is missed."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from made.folder import begin_folder
from made.sides import drawn_side, keys, point, side
from made.sweeps import TWO_NODES
from weft.analyse.compare.claims import certain_digits, claim_comparison
from weft.analyse.compare.comparison import Comparison, compare, permutation_level
from weft.analyse.compare.sides import Key, identity, model_numbers, pair_points, points_of, side_of
from weft.analyse.floor import Floor
from weft.analyse.tables.claims import extras
from weft.errors import CompareError
from weft.fabric import load_fabric
from weft.fabric.numbers import number_of

KEY = Key("collective", "alltoall@1024", "warm", 4, 16, None, None, "")


def outcomes(found: Comparison) -> set[str]:
    """Every outcome of a comparison."""
    return {each.evidence.outcome for each in (*found.rows, *found.summaries)}


def row(found: Comparison, key: Key = KEY) -> Any:
    """A row of a comparison."""
    return next(each for each in found.rows if each.key == key)


@pytest.mark.long
def test_runs_that_are_alike_raise_at_most_five_alarms_in_a_hundred() -> None:
    """Three hundred comparisons of generated launches, four a side: 5 % of 300 would be 15."""
    alarms = sum(
        bool(outcomes(compare(drawn_side("a", seed, 4), drawn_side("b", seed + 10_000, 4))) & {"slower", "faster"})
        for seed in range(300)
    )
    assert alarms <= 15


@pytest.mark.long
def test_disturbed_launches_do_not_raise_more_alarms() -> None:
    found = [
        compare(drawn_side("a", seed, 6, astray=0.1), drawn_side("b", seed + 10_000, 6, astray=0.1))
        for seed in range(100)
    ]
    assert sum(bool(outcomes(each) & {"slower", "faster"}) for each in found) <= 5


def test_a_slowdown_by_a_quarter_is_found_nineteen_times_in_twenty() -> None:
    found = [
        compare(drawn_side("a", seed, 4), drawn_side("b", seed + 10_000, 4, slower=lambda key: 1.25))
        for seed in range(60)
    ]
    assert sum("slower" in outcomes(each) for each in found) >= 57
    assert not any("faster" in outcomes(each) for each in found)


def test_a_slowdown_of_one_call_is_found_and_named_of_that_call_alone() -> None:
    def slower(key: Key) -> float:
        return 1.25 if key.operation == "gather" else 1.0

    found = [
        compare(drawn_side("a", seed, 4, spread=0.02), drawn_side("b", seed + 10_000, 4, spread=0.02, slower=slower))
        for seed in range(60)
    ]
    blamed = [
        {each.operation for each in one.summaries if each.evidence.outcome in ("slower", "faster")} for one in found
    ]
    assert sum("gather" in calls for calls in blamed) >= 57
    assert sum(bool(calls - {"gather"}) for calls in blamed) <= 3


def test_ten_launches_find_it_among_disturbed_ones() -> None:
    found = [
        compare(
            drawn_side("a", seed, 10, astray=0.05),
            drawn_side("b", seed + 10_000, 10, astray=0.05, slower=lambda key: 1.25),
        )
        for seed in range(20)
    ]
    assert sum("slower" in outcomes(each) for each in found) >= 19


def test_the_ratio_and_its_interval_are_those_of_the_launches_medians() -> None:
    found = compare(side("a", {KEY: point(1, 2, 3, 4)}), side("b", {KEY: point(30, 40, 50, 60)}))
    evidence = row(found).evidence
    assert (row(found).base_s, row(found).other_s) == (2.5, 45)
    assert evidence.ratio == pytest.approx((40 * 50) ** 0.5 / (2 * 3) ** 0.5)
    assert evidence.low <= evidence.ratio <= evidence.high
    assert (evidence.outcome, evidence.p) == ("slower", pytest.approx(2 / 70))
    assert found.outcome == "slower"


def test_turned_round_the_ratio_turns_round() -> None:
    a, b = side("a", {KEY: point(1, 2, 3, 4)}), side("b", {KEY: point(30, 40, 50, 60)})
    forth, back = row(compare(a, b)).evidence, row(compare(b, a)).evidence
    assert back.ratio == pytest.approx(1 / forth.ratio)
    assert (back.outcome, back.p_launches) == ("faster", forth.p_launches)


@pytest.mark.parametrize(("one", "two"), [(3, 3), (4, 3), (1, 10)])
def test_under_four_launches_a_side_there_is_no_verdict_but_a_ratio(one: int, two: int) -> None:
    found = compare(drawn_side("a", 1, one), drawn_side("b", 2, two, slower=lambda key: 3.0))
    assert outcomes(found) == {"no verdict"}
    evidence = found.rows[0].evidence
    assert evidence.ratio == pytest.approx(3, rel=0.3)
    assert (evidence.low, evidence.p) == (None, None)
    assert "4 needed" in evidence.why
    assert evidence.launches == (one, two)


def test_a_row_that_lost_launches_has_no_verdict_and_the_others_keep_theirs() -> None:
    base, other = drawn_side("a", 1, 4), drawn_side("b", 2, 4, slower=lambda key: 2.0)
    torn = keys()[5]
    points = dict(other.points) | {torn: point(1.0, 2.0, 3.0)}
    found = compare(base, side("b", points))
    assert row(found, torn).evidence.outcome == "no verdict"
    assert {each.evidence.outcome for each in found.rows if each.key != torn} == {"slower"}


def test_a_simulated_run_gives_a_ratio_and_neither_interval_nor_test() -> None:
    found = compare(drawn_side("a", 1, 4), side("b", {key: point(1.0) for key in keys()}, kind="simulated"))
    assert outcomes(found) == {"ratio only"}
    assert found.rows[0].evidence.why == "simulated: no interval, no test"
    assert found.rows[0].evidence.low is None


def test_numbers_that_one_model_assumes_and_the_other_has_otherwise_are_named() -> None:
    """10.9 % was the ratio of two latencies that nobody had measured."""
    slow, fast = (load_fabric(f"biruni-{name}") for name in ("ethernet", "infiniband"))
    sides = [
        side(
            fabric.name, {key: point(1.0) for key in keys()}, kind="simulated",
            assumed=model_numbers(fabric, assumed=True), stated=model_numbers(fabric, assumed=False),
        )
        for fabric in (slow, fast)
    ]  # fmt: skip
    assert set(sides[0].assumed) >= {"network.latency", "node.copy_rate"}
    latencies = tuple(number_of(fabric, "network.latency") for fabric in (slow, fast))
    assert compare(*sides).assumed == {"network.latency": latencies}, "the copy rates are equal"
    (claim,) = [each for each in claim_comparison(compare(*sides)) if each["id"] == "assumed.number"]
    assert (claim["subject"], extras(claim)["base"], extras(claim)["other"]) == ("network.latency", *latencies)
    assert compare(sides[0], sides[0]).assumed == {}
    assert [certain_digits(*ends) for ends in ((0.011, 1.8), (0.42, 0.44), (1.24, 1.26), (2.001, 2.002))] == [
        0,
        1,
        1,
        3,
    ]
    assert certain_digits(None, None) is None
    measured = side("measured", {key: point(1.0) for key in keys()})
    assert compare(measured, sides[0]).assumed["network.latency"] == (None, latencies[0])
    assert model_numbers(load_fabric("virtual-default"), assumed=True) == {}


def test_a_difference_below_the_noise_floor_is_none() -> None:
    """METHOD 21."""
    quick = {"floor_s": 5e-9}
    a = side("a", {KEY: point(10e-9, 10.1e-9, 10.2e-9, 10.3e-9, **quick)})
    b = side("b", {KEY: point(14e-9, 14.1e-9, 14.2e-9, 14.3e-9, **quick)})
    evidence = row(compare(a, b)).evidence
    assert (evidence.outcome, evidence.shown) == ("no difference shown", False)
    assert evidence.why == "the difference is below the noise floor"
    b = side("b", {KEY: point(16e-9, 16.1e-9, 16.2e-9, 16.3e-9, **quick)})
    assert row(compare(a, b)).evidence.outcome == "slower"


def test_a_shown_difference_within_the_precision_is_not_called_one() -> None:
    a = side("a", {KEY: point(*(1 + 1e-4 * i for i in range(8)))})
    b = side("b", {KEY: point(*(1.04 + 1e-4 * i for i in range(8)))})
    evidence = row(compare(a, b)).evidence
    assert (evidence.outcome, evidence.shown) == ("no difference shown", True)
    assert "may be within the target precision of 5 %" in evidence.why
    assert row(compare(a, b, margin=0.01)).evidence.outcome == "slower"


def test_one_call_over_its_sizes_is_their_geometric_mean_at_each_process_count_and_over_all() -> None:
    rows = keys(("alltoall",), (8, 64, 512), (8, 16))
    base = side("a", {key: point(*[1.0] * 4) for key in rows})
    other = side("b", {key: point(*[float(key.size or 0)] * 4) for key in rows})
    found = compare(base, other)
    shapes = {each.ranks: each.evidence.ratio for each in found.summaries}
    assert shapes == {None: pytest.approx(64), 8: pytest.approx(64), 16: pytest.approx(64)}
    assert all(len(each.keys) == 3 for each in found.summaries if each.ranks)


def test_both_directions_make_a_mixed_comparison() -> None:
    found = compare(
        drawn_side("a", 1, 6), drawn_side("b", 2, 6, slower=lambda key: 2.0 if key.operation == "bcast" else 0.5)
    )
    assert found.outcome == "mixed"


def test_what_has_no_partner_is_listed_with_its_reason() -> None:
    def alltoall(**changes: Any) -> Key:
        return KEY._replace(**changes)

    fine = point(1, 2, 3, 4)
    crashed = point(status="crash", reason="rank 3 was killed")
    base = side("a", {KEY: fine, alltoall(call="alltoall@4096"): fine, alltoall(ranks=32): fine})
    other = side("b", {KEY: fine, alltoall(call="alltoall@4096"): crashed, alltoall(call="alltoall@7"): fine})
    found = compare(base, other)
    assert [each.key for each in found.rows] == [KEY]
    told = {(each.key.call, each.key.ranks, each.run): (each.missing, each.reason) for each in found.unmatched}
    assert told == {
        ("alltoall@4096", 16, "b"): (True, "crash: rank 3 was killed"),
        ("alltoall@1024", 32, "b"): (False, "ranks is 16 there"),
        ("alltoall@7", 16, "a"): (False, "this size was not measured there"),
    }


def test_runs_with_nothing_in_common_are_refused_with_the_nearest_difference() -> None:
    other = side("b", {KEY._replace(n=512): point(1, 2)})
    with pytest.raises(CompareError, match=r"no row in common: .*n is 512 there") as error:
        compare(side("a", {KEY._replace(n=64): point(1, 2)}), other)
    assert error.value.exit_code == 2


def test_phases_that_were_not_asked_for_do_not_enter() -> None:
    cold = KEY._replace(phase="cold")
    a, b = (side(name, {KEY: point(1, 2, 3, 4), cold: point(5, 6, 7, 8)}) for name in "ab")
    assert [each.key.phase for each in compare(a, b, phases=("warm",)).rows] == ["warm"]
    assert [each.key.phase for each in compare(a, b).rows] == ["cold", "warm"]


def test_the_same_runs_give_the_same_answer_every_time() -> None:
    a, b = drawn_side("a", 1, 10), drawn_side("b", 2, 10)
    assert compare(a, b) == compare(a, b)


def test_parameters_tell_rows_apart_but_the_extent_of_a_sweep_and_the_place_of_a_file_do_not() -> None:
    plain = {"collective": "alltoall", "form": "plain", "bytes": [1, 2], "refine": 3}
    more = {"bytes": [4], "refine": 0, "explain": True, "algorithm": "default"}
    assert identity("collective", plain) == identity("collective", plain | more)
    assert identity("collective", plain) != identity("collective", plain | {"form": "inplace"})
    here, there, other = (identity("exchange", {"file": name}) for name in ("/a/keys.npy", "/b/keys.npy", "other.npy"))
    assert here == there != other
    # what says how much of a sweep there is to one kernel may be a measurement of its own to another
    assert identity("exchange", {"n": 4, "m": 2, "explain": False}) == identity("exchange", {"n": 8, "m": 4})
    beside = {"victim": "stream", "place": "random", "members": [0, 1], "beside": [2, 3], "traffic": ["incast"]}
    tables, hashed = (beside | {"mates": 0, "counted": counted, "chunk": 2} for counted in (0, 2))
    assert identity("interference", tables) == identity("interference", hashed)
    assert identity("interference", beside | {"members": [0, 2]}) != identity("interference", hashed)
    assert identity("bandwidth", {"n": 4}) != identity("bandwidth", {"n": 8})


def test_an_algorithm_that_was_chosen_is_an_operation_of_its_own() -> None:
    assert KEY.operation == "alltoall"
    chosen = identity("collective", {"algorithm": "ring", "setting": {"X": "1"}})
    assert KEY._replace(parameters=chosen).operation == "alltoall (ring)"


def test_runs_of_one_algorithm_each_are_held_against_each_other() -> None:
    """As two libraries are: within a run of several, an algorithm is an operation of its own."""
    row = {"kernel": "collective", "phase": "warm", "nodes": 2, "ranks_per_node": 2, "ranks": 4, "n": None, "m": None}
    row |= {
        "series": ["s"],
        "reason": "",
        "interval": "over launches",
        "batch": 1,
        "oversubscribed": False,
        "call": "alltoall@8",
        "status": "ok",
    }

    def keys(*algorithms: str) -> set[Any]:
        rows = [row | {"cell": f"c{number}"} for number in range(len(algorithms))]
        common = {"collective": "alltoall", "form": "plain"}
        parameters = {f"c{number}": common | {"algorithm": each} for number, each in enumerate(algorithms)}
        return set(points_of(rows, [], parameters, Floor([])))

    assert keys("default") == keys("node.multi{nl=4}")
    both = keys("default", "node.multi{nl=4}")
    assert len(both) == 2
    assert {key.operation for key in both} == {"alltoall", "alltoall (node.multi{nl=4})"}


def test_points_take_the_medians_of_good_rows_and_the_floor_of_their_shape() -> None:
    common = {
        "kernel": "collective",
        "phase": "warm",
        "nodes": 1,
        "ranks_per_node": 2,
        "ranks": 2,
        "n": None,
        "m": None,
    }
    common |= {"series": ["s"], "reason": "", "interval": "over launches", "batch": 10, "oversubscribed": False}
    rows = [
        common | {"cell": "c000", "call": "bcast@8", "status": "ok"},
        common | {"cell": "c001", "call": "barrier", "status": "ok"},
        common | {"cell": "c002", "call": "barrier", "status": "crash", "reason": "killed"},
    ]
    medians = [
        {"cell": cell, "launch": launch, "call": call, "phase": "warm", "median_s": 1e-6 * launch}
        for cell, call in (("c000", "bcast@8"), ("c001", "barrier"), ("c002", "barrier"))
        for launch in (1, 2)
    ]
    floor = Floor([{"quantity": "empty", "nodes": 1, "ranks_per_node": 2, "value": 2e-7}])
    parameters = {"c000": {"collective": "bcast"}, "c001": {"collective": "bcast"}, "c002": {"collective": "gather"}}
    found = points_of(rows, medians, parameters, floor)
    assert sorted(key.call for key in found) == ["barrier", "bcast@8"]
    broadcast = next(value for key, value in found.items() if key.call == "bcast@8")
    assert broadcast.medians == {1: 1e-6, 2: 2e-6}
    assert broadcast.floor_s == pytest.approx(2e-8)
    assert next(value for key, value in found.items() if key.call == "barrier").status == "ok"


def test_runs_of_pairs_are_compared_by_their_middle_and_their_slowest_pair(tmp_path: Path) -> None:
    rows = [
        {
            "launch": launch,
            "launch_id": f"g000.l{launch}",
            "bytes": 1024,
            "mode": "all",
            "source": 0,
            "target": target,
            "median_s": target * 1e-6 * launch,
        }
        for launch in (1, 2, 3, 4)
        for target in (1, 2, 9)
    ]
    (tmp_path / "tables").mkdir()
    pq.write_table(pa.Table.from_pylist(rows), tmp_path / "tables" / "pairs.parquet")
    plan: Any = SimpleNamespace(kernel="pairs", measured=())
    found = pair_points(plan, tmp_path, 2, 4)
    medians = {key.operation: point.medians for key, point in found.items()}
    assert {key.size for key in found} == {1024}
    assert medians["middle pair, all"] == {launch: pytest.approx(2e-6 * launch) for launch in (1, 2, 3, 4)}
    assert medians["slowest pair, all"] == {launch: pytest.approx(9e-6 * launch) for launch in (1, 2, 3, 4)}


def test_rates_of_buffers_apart_and_of_one_for_all_are_two_operations(tmp_path: Path) -> None:
    """One place for all is up to 8.2 times as fast; runs of before have no word about it: theirs are apart."""
    (tmp_path / "tables").mkdir()
    row = {"launch": 1, "launch_id": "g000.l1", "bytes": 1024, "mode": "all", "source": 0, "target": 1, "median_s": 1.0}
    pq.write_table(pa.Table.from_pylist([row, row | {"bytes": 8192}]), tmp_path / "tables" / "pairs.parquet")

    def keys_of(pairs: str, *, forget: str = "") -> set[Key]:
        study = (
            f'name = "x"\nkernel = "pairs"\n[pairs]\n{pairs}\n[[series]]\nname = "s"\nnodes = 2\nranks_per_node = 1\n'
        )
        plan = begin_folder(tmp_path, study, TWO_NODES, cores=2)
        cells = [cell.model_copy(update={"parameters": dict(cell.parameters)}) for cell in plan.cells]
        for cell in cells:
            cell.parameters.pop(forget, None)
        return set(side_of(tmp_path, plan.model_copy(update={"cells": tuple(cells)}), "a", "").points)

    rate = 'measure = "bandwidth"\nbytes = ["1 KiB"]\n'
    shared, apart = keys_of(rate), keys_of(f'{rate}places = "apart"')
    assert shared and not shared & apart
    assert keys_of(rate, forget="places") == apart
    assert {key.parameters for key in keys_of('bytes = ["1 KiB"]')} == {""}
    # large messages of checks moved one way before
    check = 'matchings = 2\nbytes = ["1 KiB", "8 KiB"]'
    assert {key.size for key in keys_of(check) & keys_of(check, forget="both_ways")} == {1024}


def test_an_interval_that_reaches_into_the_margin_is_no_slowdown_though_its_middle_lies_beyond() -> None:
    a = side("a", {KEY: point(1.0, 1.001, 1.002, 1.003, 1.004)})
    b = side("b", {KEY: point(1.02, 1.06, 1.08, 1.09, 1.12)})
    evidence = row(compare(a, b)).evidence
    assert evidence.ratio > 1.05 > evidence.low > 1
    assert (evidence.shown, evidence.outcome) == (True, "no difference shown")


@pytest.mark.parametrize(("launches", "level"), [((4, 4), 2 / 70), ((4, 5), 0.01), ((5, 5), 0.01), ((10, 10), 0.01)])
def test_the_level_is_one_per_cent_where_the_launches_can_reach_it(launches: tuple[int, int], level: float) -> None:
    assert permutation_level(launches) == pytest.approx(level)


def test_only_the_sizes_asked_for_enter_and_their_summary_is_of_those() -> None:
    found = compare(drawn_side("a", 1, 4), drawn_side("b", 2, 4), sizes=(1024, 16384))
    assert {each.key.size for each in found.rows} == {1024, 16384}
    assert all(len(each.keys) == 2 for each in found.summaries)
    with pytest.raises(CompareError, match="the common rows are from 64 B to 16 KiB"):
        compare(drawn_side("a", 1, 4), drawn_side("b", 2, 4), sizes=(1, 2))
