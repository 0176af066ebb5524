# SPDX-License-Identifier: BSD-3-Clause
"""Self-checks and warnings: each planted fault is found, a sound run has none, and each finding names a remedy."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import weft.analyse
from weft.analyse.checks import (
    below_floor,
    bounds_beaten,
    by_gravity,
    common_findings,
    doubtful,
    failures,
    finding_texts,
    machine,
    mixed,
    not_fresh,
    phase_in_words,
    self_checks,
)
from weft.analyse.floor import BESIDE, Floor, floor_rows, with_rates_beside
from weft.analyse.tables.times import FloorRow

Row = dict[str, Any]


def row(**changes: Any) -> Row:
    sound: Row = {
        "cell": "c001", "kernel": "exchange", "call": "C", "phase": "warm", "nodes": 3, "ranks_per_node": 8,
        "ranks": 24, "m": 512,
        "status": "ok", "reason": "", "samples": 120, "discarded": 0, "disturbed": 0, "lost_s": 5e-6,
        "lost_by": "delay", "launches": 3,
        "min_s": 0.9, "p5_s": 0.92, "median_s": 1.0, "p95_s": 1.1, "p99_s": 1.2, "max_s": 1.3, "mean_s": 1.0,
        "low_s": 0.99, "high_s": 1.01, "interval": "range of launches", "bound_s": 0.8,
        "bound": "injection", "bound_basis": "stated", "block_bytes": 1024, "oversubscribed": False, "batch": 1,
        "peers_met": None,
    }  # fmt: skip
    return sound | changes


def cell(**changes: Any) -> Row:
    sound = {"cell": "c001", "launch": 1, "swap_in_pages": 0, "swap_out_pages": 0, "steal_ns": 0, "wall_ns": 10**9}
    return sound | {"warnings": []} | changes


EMPTY = Floor([{"quantity": "empty", "nodes": 3, "ranks_per_node": 8, "bytes": 0, "value": 5e-8}])


def test_a_sound_run_has_no_findings() -> None:
    assert common_findings([row(), row(call="A")], [cell()], EMPTY) == []


@pytest.mark.parametrize(
    ("changes", "pattern"),
    [
        ({"p95_s": 0.95}, "median_s = 1 s is above p95_s"),
        ({"max_s": 1.15}, "p99_s = 1.2 s is above max_s"),
        ({"p99_s": None, "max_s": 1.05}, "p95_s = 1.1 s is above max_s"),
        ({"min_s": 0.93}, "min_s = 930 ms is above p5_s"),
        ({"median_s": float("nan")}, "not a number"),
        ({"max_s": float("inf")}, "infinite"),
        ({"min_s": -1e-9}, "negative"),
        ({"samples": 0}, "no samples"),
        ({"median_s": None}, "no samples"),
        ({"low_s": 1.001}, "outside its interval"),
        ({"high_s": 0.999}, "outside its interval"),
    ],
)
def test_statistics_that_cannot_be_are_errors(changes: Row, pattern: str) -> None:
    found = self_checks([row(**changes)])
    assert [finding["level"] for finding in found] == ["error"]
    assert pattern in found[0]["what"]
    assert found[0]["remedy"]


@pytest.mark.parametrize(("bound", "expected"), [(1.0, 0), (1.19, 0), (1.21, 1), (None, 0)])
def test_a_rate_over_a_fifth_above_the_bounds_is_suspect(bound: float | None, expected: int) -> None:
    found = self_checks([row(bound_s=bound)])
    assert len(found) == expected
    assert all(finding["level"] == "warning" and "injection" in finding["what"] for finding in found)


def test_rows_without_numbers_are_not_checked_for_numbers() -> None:
    assert self_checks([row(status="memory", median_s=None, samples=0)]) == []


@pytest.mark.parametrize(
    ("status", "level", "remedy"),
    [
        ("memory", "warning", "smaller m"),
        ("timeout", "error", "retries"),
        ("invalid", "error", "do not trust"),
        ("planned", "warning", "repeat"),
    ],
)
def test_a_failed_cell_is_one_finding_whatever_its_calls(status: str, level: str, remedy: str) -> None:
    rows = [
        row(status=status, reason="24 GiB of 8 GiB", call=call, phase=phase)
        for call in "ABC"
        for phase in ("cold", "warm")
    ]
    found = failures(rows)
    assert len(found) == 1
    assert (found[0]["level"], found[0]["what"]) == (level, f"{status}: 24 GiB of 8 GiB")
    assert remedy in found[0]["remedy"]
    assert found[0]["where"] == "cell c001, N = 3, p = 24, m = 512"


def test_a_lost_launch_is_told() -> None:
    assert failures([row(reason="1 of 3 launches failed")])[0]["what"] == "1 of 3 launches failed"


@pytest.mark.parametrize(("median", "expected"), [(4e-8, 1), (5e-8, 1), (6e-8, 0)])
def test_a_time_below_the_noise_floor_is_told(median: float, expected: int) -> None:
    assert len(below_floor([row(median_s=median)], EMPTY)) == expected
    assert below_floor([row(median_s=median, nodes=9)], EMPTY) == []


def test_a_batch_shares_one_empty_operation_and_ranks_that_share_cores_have_no_floor() -> None:
    assert below_floor([row(median_s=4e-8, batch=2)], EMPTY) == []
    assert below_floor([row(median_s=4e-8, oversubscribed=True)], EMPTY) == []


def test_a_latency_bound_stands_on_the_shortest_with_any_number_of_ranks() -> None:
    times = {4: 2e-5, 2: 3e-7}
    floor = Floor([{"quantity": "latency", "nodes": 1, "ranks_per_node": r, "best": s} for r, s in times.items()])
    assert floor.best_latency(1) == 3e-7
    assert floor.best_latency(2) is None


@pytest.mark.parametrize(("half", "crossing", "best"), [(1.43e-6, 3.8e-7, 3.8e-7), (3e-7, 4e-7, 3e-7)])
def test_the_latency_of_a_bound_is_the_faster_of_half_a_round_trip_and_messages_that_cross(
    half: float, crossing: float, best: float
) -> None:
    measured = {"latency": half, "swap": crossing}
    floor = Floor([{"quantity": q, "nodes": 1, "ranks_per_node": 2, "best": s} for q, s in measured.items()])
    assert floor.best_latency(1) == best


def test_two_ranks_that_found_themselves_on_one_core_are_a_finding_of_its_own() -> None:
    told = "two ranks on one core: ranks 1, 3 of n0 may use 1 core only (3), so they take turns"
    (found,) = machine([cell(warnings=[told])])
    assert (found["level"], found["rule"], found["what"]) == ("warning", "shared-core", told)
    assert "bind each rank to its own core" in found["remedy"]


def test_a_first_call_whose_peers_were_met_before_is_not_called_cold() -> None:
    fresh, met = row(phase="cold", peers_met=0), row(phase="cold", peers_met=22)
    assert [phase_in_words(each) for each in (fresh, row(phase="cold"), row())] == ["cold", "cold", "warm"]
    assert phase_in_words(met) == "first call, 22 of 23 connections were already open"
    (found,) = not_fresh([fresh, met, row()])
    assert (found["level"], found["rule"], found["what"]) == ("note", "not-fresh", phase_in_words(met))


def test_swap_steal_and_the_kernels_own_warnings_are_told() -> None:
    found = machine([cell(swap_out_pages=3), cell(steal_ns=2 * 10**7), cell(warnings=["hot"])])
    assert [finding["rule"] for finding in found] == ["swap", "steal", "kernel"]
    assert machine([cell(steal_ns=9 * 10**6)]) == []


@pytest.mark.parametrize(
    ("changes", "rule"),
    [
        ({"low_s": 0.9, "high_s": 1.1}, "wide"),
        ({"disturbed": 13}, "lost"),
        ({"discarded": 1}, "late"),
        ({"oversubscribed": True}, "oversubscribed"),
    ],
)
def test_doubtful_rows_are_told_with_their_reason(changes: Row, rule: str) -> None:
    assert [finding["rule"] for finding in doubtful([row(**changes)], 0.05)] == [rule]


@pytest.mark.parametrize(
    ("interval", "told"),
    [
        ("within one launch", "±10 % within one launch, 120 samples"),
        ("range of launches", "launch medians vary by ±10 %"),
        ("over launches", "interval ±10 % over 3 launches"),
    ],
)
def test_a_wide_interval_says_what_it_is(interval: str, told: str) -> None:
    (found,) = doubtful([row(low_s=0.9, high_s=1.1, interval=interval)], 0.05)
    assert told in found["what"]
    assert doubtful([row(low_s=None, high_s=None, interval="none")], 0.05) == []
    assert self_checks([row(low_s=None, high_s=None, interval="none")]) == []


def test_errors_come_first() -> None:
    found = by_gravity(
        common_findings([row(disturbed=99), row(status="crash", reason="x", cell="c2"), row(bound_s=5.0)], [], EMPTY)
    )
    assert [finding["level"] for finding in found] == ["error", "error", "warning", "note"]


def test_many_findings_of_one_kind_are_drawn_together() -> None:
    found = doubtful([row(disturbed=99, m=m) for m in range(5)], 0.05)
    assert len(found) == 5


def floor_of(*copies: tuple[int | str, float]) -> Floor:
    """A floor whose copies of some bytes a rank, by some way, take some seconds at best, on one node of two ranks."""
    cells = {"f000": SimpleNamespace(id="f000", kernel="floor", nodes=1, ranks_per_node=2)}
    measured = [
        {
            "cell": "f000",
            "phase": "warm",
            "call": f"copy-{size}",
            "samples": 20,
            "min_s": s,
            "median_s": s * 2,
            "low_s": s * 1.25,
            "high_s": s * 4,
        }
        for size, s in copies
    ]
    return Floor(floor_rows(measured, cells))


def test_a_bound_that_any_sample_beats_is_an_error_with_both_numbers() -> None:
    (found,) = bounds_beaten([row(), row(bound_s=0.95), row(bound_s=None), row(bound_s=0.9)])
    assert (found["level"], found["rule"], found["where"]) == (
        "error",
        "bound-beaten",
        "C warm, N = 3, p = 24, m = 512",
    )
    assert found["what"] == "the fastest sample took 900 ms, less than its lower bound of 950 ms (injection)"
    assert found in common_findings([row(bound_s=0.95)], [], EMPTY)


def test_a_bound_by_a_rate_measured_on_a_busy_host_sends_nobody_to_the_fabric_file() -> None:
    """76 us beat a bound of 679 us, and the remedy named a file that has no such rate."""
    stated, measured = (bounds_beaten([row(bound_s=0.95, bound_basis=basis)])[0] for basis in ("stated", "measured"))
    assert "fabric file" in stated["remedy"]
    assert "fabric file" not in measured["remedy"]


def test_a_floor_measured_under_load_is_mended_by_what_its_cells_measure_in_their_own_launches() -> None:
    """The floor's launch met other work: a copy of 4,000 B a rank took 679 us, and samples of 76 us beat that bound."""
    cells: Any = {"c000": SimpleNamespace(nodes=1, ranks_per_node=2)}
    floor, other = floor_of((4000, 679e-6)), floor_of((4000, 679e-6), (8000, 1e-3))
    assert floor.copy_rate(1, 2, 4000) == pytest.approx(2 * 4000 / 679e-6)
    beside = [{"cell": "c000", "op": f"{BESIDE}copy-4000{way}", "seconds": each} for way, each in WAYS_BESIDE]
    assert Floor(with_rates_beside(list(floor.rows), beside, cells)).copy_rate(1, 2, 4000) == pytest.approx(
        8000 / 70e-6
    )
    slower = [{"cell": "c000", "op": f"{BESIDE}copy-4000", "seconds": 1.0}]
    assert with_rates_beside(list(other.rows), slower, cells) == other.rows, "the best counts, wherever it was measured"


WAYS_BESIDE = (("", 80e-6), ("-streamed", 70e-6), ("-in-4096", 90e-6))


def test_the_copy_rate_is_that_of_the_largest_copy_that_fits_the_block() -> None:
    floor = floor_of((1000, 1e-6), (4000, 8e-6), (16000, 64e-6))
    rates = [floor.copy_rate(1, 2, block) for block in (1, 999, 1000, 3999, 4000, 15999, 16000, 10**9)]
    assert rates == pytest.approx([2e9, 2e9, 2e9, 2e9, 1e9, 1e9, 5e8, 5e8])
    assert floor.copy_rate(2, 2, 1000) is None


def test_a_bound_copies_in_the_way_that_is_fastest_at_its_size_and_says_which() -> None:
    """A library that copies in pieces beat the bound by one call of memcpy: 2.77 ms against 2.91 ms."""
    ways = [(size, f"{size}-in-262144", f"{size}-streamed") for size in (10**6, 10**7)]
    (whole, pieces, streamed), (large, large_pieces, large_streamed) = ways
    floor = floor_of(
        (pieces, 1e-3), (whole, 2e-3), (streamed, 3e-3), (large_pieces, 3e-2), (large_streamed, 1e-2), (large, 2e-2)
    )
    assert [row["way"] for row in floor.rows] == ["pieces of 256 KiB", "streaming stores"]
    assert [floor.copy_rate(1, 2, size) for size in (10**6, 10**7)] == pytest.approx([2e9, 2e9])
    assert floor_of((10**6, 1e-3)).rows[0]["way"] == "whole"


def test_a_copy_is_at_least_as_fast_as_a_larger_one_and_as_one_ranks_share_beside_others() -> None:
    """A floor of 30 us that was disturbed made a bound that samples beat, beside rates that show it to be wrong."""
    disturbed = floor_of((1000, 4e-6), (4000, 8e-6))
    assert disturbed.copy_rate(1, 2, 1000) == pytest.approx(1e9)
    alone: FloorRow = {**disturbed.rows[0], "ranks_per_node": 1, "best": 3e8}
    both = Floor([alone, *disturbed.rows])
    assert both.copy_rate(1, 1, 1000) == pytest.approx(5e8)
    assert both.copy_rate(1, 2, 1000) == pytest.approx(1e9)
    assert both.copy_rate(1, 1, 10**6) == pytest.approx(5e8)


def test_every_way_to_copy_has_a_name_for_the_reader() -> None:
    ends = ("", "-in-4096", "-in-262144", "-streamed", "-backward", "-string")
    told = [floor_of((f"1000{end}", 1e-6)).rows[0]["way"] for end in ends]
    assert told == [
        "whole", "pieces of 4 KiB", "pieces of 256 KiB", "streaming stores", "backward", "string instruction",
    ]  # fmt: skip


def test_an_interval_of_a_rate_is_that_of_its_time_turned_round() -> None:
    rate = floor_of((1000, 1e-6)).rows[0]
    assert (rate["value"], rate["low"], rate["high"]) == pytest.approx((1e9, 5e8, 1.6e9))


def test_a_copy_too_fast_for_the_clock_has_no_rate() -> None:
    assert floor_of((1000, 0.0)).copy_rate(1, 2, 1000) is None


@pytest.mark.parametrize(("key", "count"), [("kernel_sources", 1), ("mpi_library", 1), ("processor", 0)])
def test_launches_of_two_kernels_or_libraries_are_a_finding(key: str, count: int) -> None:
    one: Any = {"kernel_sources": "a", "mpi_library": "Open MPI 5", "processor": "x"}
    assert mixed([one, one, one | {"kernel_sources": ""}]) == []
    found = mixed([one, one | {key: "b"}])
    assert [(each["level"], each["rule"]) for each in found] == [("warning", "mixed")] * count


def test_the_words_of_each_finding_have_a_level_a_what_and_a_remedy_and_are_used() -> None:
    texts = {id: text for id, text in finding_texts().items() if "what" in text}
    assert len(texts) > 30
    assert all(text["level"] in ("error", "warning", "note") and text["remedy"] for text in texts.values())
    sources = "".join(path.read_text() for path in Path(weft.analyse.__path__[0]).rglob("*.py"))
    groups = ("failed.", "wide.", "bound-beaten.", "self-check.")  # their cases are put together where they are made
    assert [id for id in texts if not id.startswith(groups) and f'"{id}"' not in sources] == []
