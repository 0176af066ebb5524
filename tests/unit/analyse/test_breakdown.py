# SPDX-License-Identifier: BSD-3-Clause
"""The breakdown from prescribed times: one cause makes one step grow, and no other."""

from collections.abc import Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import ibis
import pytest

from weft.analyse.breakdown import breakdown_rows, link_scale
from weft.analyse.tables.breakdown import BreakdownRow, TurnRow
from weft.analyse.tables.times import CallRow
from weft.analyse.thresholds.knob import Settings
from weft.analyse.times import medians
from weft.fabric import load_fabric

SETTINGS = Settings("Open MPI v4.1.4", {"btl_vader_single_copy_mechanism": "1", "btl_vader_eager_limit": "4096"})
PLAIN = {"within": 2e-3, "between": 1e-3, "shift": 4e-3, "pairwise": 5e-3, "whole": 4.4e-3}


def turns(seconds: Mapping[str, float] = PLAIN, launch: int = 1, late_s: float = 0.0) -> list[TurnRow]:
    return [
        TurnRow(
            cell="c000",
            launch=launch,
            call="C",
            step=step,
            place=0,
            seconds=each,
            total_s=each + late_s,
            mean_s=each,
            samples=9,
        )
        for step, each in seconds.items()
    ]


def cell(**more: Any) -> SimpleNamespace:
    found = {"id": "c000", "kernel": "exchange", "nodes": 4, "ranks": 8, "ranks_per_node": 2, "block_bytes": 1000}
    return SimpleNamespace(**found | {"parameters": {}, "bounds": {}, "alone_s_per_byte": None} | more)


def call(bound_s: float | None = 2e-3, bound: str = "link leaf0 up", seconds: float | None = None) -> CallRow:
    row: dict[str, Any] = {"cell": "c000", "call": "C", "phase": "warm", "status": "ok", "kernel": "exchange"}
    row |= {"nodes": 4, "ranks": 8, "min_s": bound_s, "median_s": seconds, "low_s": None, "high_s": None}
    return cast(CallRow, row | {"block_bytes": 1000, "bound_s": bound_s, "bound": bound if bound_s else ""})


def breakdown(found: list[TurnRow], bound: CallRow | None = None, **more: Any) -> list[BreakdownRow]:
    return breakdown_rows(found, [bound or call()], {"c000": cell(**more)}, {"c000": SETTINGS})


def factors(rows: list[BreakdownRow]) -> dict[str, float | None]:
    return {row["step"]: row["factor"] for row in rows}


def test_each_step_stands_on_the_one_below() -> None:
    rows = breakdown(turns())
    assert [(row["step"], row["seconds"]) for row in rows] == [
        ("hardware", 2e-3), ("messages", 3e-3), ("contention", 4e-3), ("algorithm", 4.4e-3), ("arrival", 4.4e-3),
    ]  # fmt: skip
    assert factors(rows) == pytest.approx(
        {"hardware": None, "messages": 1.5, "contention": 4 / 3, "algorithm": 1.1, "arrival": 1.0}
    )


@pytest.mark.parametrize(
    ("slower", "grows"),
    [
        (("within", "between", "shift", "pairwise", "whole"), "messages"),
        (("shift", "pairwise", "whole"), "contention"),
        (("whole",), "algorithm"),
    ],
)
def test_what_slows_some_operations_moves_the_step_at_which_they_begin(slower: tuple[str, ...], grows: str) -> None:
    before = factors(breakdown(turns()))
    after = factors(breakdown(turns({name: each * (5 if name in slower else 1) for name, each in PLAIN.items()})))
    moved = {step for step, factor in after.items() if factor and factor != pytest.approx(before[step])}
    assert moved == {grows}
    assert after[grows] == pytest.approx(5 * cast(float, before[grows]))


def test_a_faster_link_moves_hardware_and_what_stands_on_it() -> None:
    rows = breakdown(turns(), call(1e-3))
    assert rows[0]["seconds"] == 1e-3
    assert factors(rows) == pytest.approx(
        {"hardware": None, "messages": 3.0, "contention": 4 / 3, "algorithm": 1.1, "arrival": 1.0}
    )


def test_late_ranks_stand_apart_from_the_algorithm() -> None:
    rows = breakdown(turns(late_s=2.2e-3))
    assert factors(rows)["algorithm"] == pytest.approx(1.1)
    assert factors(rows)["arrival"] == pytest.approx(1.5)


def test_the_faster_of_the_plain_rounds_counts() -> None:
    named = {row["step"]: row["name"] for row in breakdown(turns(PLAIN | {"pairwise": 3e-3}))}
    assert named["contention"] == "pairwise"
    assert {row["step"]: row["name"] for row in breakdown(turns())}["contention"] == "shift"


def test_factors_are_those_within_launches_and_have_their_range() -> None:
    doubled = {step: 2 * each for step, each in PLAIN.items()}  # a launch on slow places: all steps alike
    rows = breakdown(turns() + turns(doubled, 2) + turns(PLAIN | {"whole": 8.8e-3}, 3))
    by_step = {row["step"]: row for row in rows}
    assert by_step["contention"]["factor"] == pytest.approx(4 / 3)
    assert by_step["contention"]["factor_low"] == pytest.approx(by_step["contention"]["factor_high"])
    assert by_step["algorithm"]["factor"] == pytest.approx(1.1)
    assert by_step["algorithm"]["factor_high"] == pytest.approx(2.2)
    assert by_step["hardware"]["low"] is None


@pytest.mark.parametrize(
    ("wholes", "effect"),
    [
        ((3.9, 4.1, 4.2), "none"),
        ((3.99, 4.0, 4.01), "none"),
        ((3.6, 4.0, 4.6), "unsure"),  # it may add a sixth
        ((2.0, 4.0, 8.0), "unsure"),  # "adds nothing" was said of it
        ((4.4, 4.4, 4.6), "adds"),
        ((3.0, 3.1, 3.2), "saves"),
    ],
)
def test_a_step_whose_range_holds_1_claims_nothing(wholes: tuple[float, ...], effect: str) -> None:
    rows = breakdown([turn for n, ms in enumerate(wholes, 1) for turn in turns(PLAIN | {"whole": ms * 1e-3}, n)])
    assert next(row for row in rows if row["step"] == "algorithm")["effect"] == effect


def test_the_last_step_is_the_calls_own_time_of_the_table() -> None:
    """The breakdown measured the call again: 445 ms stood beside 400 ms in the table."""
    of_table = call(seconds=4.6e-3) | {"low_s": 4.5e-3, "high_s": 4.7e-3}
    last = breakdown(turns(), cast(CallRow, of_table))[-1]
    assert (last["step"], last["seconds"], last["low"], last["high"]) == ("arrival", 4.6e-3, 4.5e-3, 4.7e-3)


def test_messages_that_take_longer_alone_than_all_at_once_show_no_contention() -> None:
    """Sent one by one they cannot overlap: contention "took 14 to 30 % away" in every cell of several nodes."""
    rows = {row["step"]: row for row in breakdown(turns(PLAIN | {"between": 9e-3}))}
    assert (rows["messages"]["seconds"], rows["contention"]["seconds"]) == (4e-3, 4e-3)
    assert (rows["contention"]["factor"], rows["contention"]["effect"]) == (1.0, "none")
    assert [rows[step]["effect"] for step in ("hardware", "messages", "algorithm")] == ["floor", "adds", "adds"]


def test_messages_alone_are_never_faster_than_the_hardware() -> None:
    rows = {row["step"]: row for row in breakdown(turns(PLAIN | {"within": 1e-3, "between": 0.5e-3}))}
    assert (rows["messages"]["seconds"], rows["messages"]["effect"]) == (2e-3, "none")
    assert rows["contention"]["factor"] == pytest.approx(2.0)


def test_a_bound_that_plain_rounds_beat_is_no_step() -> None:
    assert breakdown(turns(), call(4.1e-3))[0]["step"] == "messages"


def test_without_a_bound_the_breakdown_begins_with_messages() -> None:
    rows = breakdown(turns(), call(None))
    assert rows[0]["step"] == "messages"


def test_a_cell_that_failed_has_no_breakdown() -> None:
    assert breakdown(turns(), cast(CallRow, call() | {"status": "invalid"})) == []


def test_a_bound_that_a_sample_beat_is_no_step_of_a_breakdown() -> None:
    beaten = call()
    beaten["min_s"] = 1.9e-3
    assert [row["step"] for row in breakdown(turns(), beaten)] == ["messages", "contention", "algorithm", "arrival"]


def test_messages_are_scaled_to_what_the_fullest_link_carries() -> None:
    """A rank alone sends 6 blocks over links of their own; the link of a leaf carries 16: 16 / 6 at the same cost."""
    bounds = {"C": SimpleNamespace(terms={"link leaf0 up": 16e-6, "injection": 6e-6, "memory copy": 99.0})}
    alone = 6e-6 / 1000
    assert link_scale(cell(bounds=bounds, alone_s_per_byte=alone)) == pytest.approx(16 / 6)
    rows = breakdown(turns(PLAIN | {"within": 1e-3}), bounds=bounds, alone_s_per_byte=alone)
    assert rows[1]["seconds"] == pytest.approx(1e-3 + 16 / 6 * 1e-3)
    few = {"C": SimpleNamespace(terms={"injection": 3e-6})}
    assert link_scale(cell(bounds=few, alone_s_per_byte=alone)) == 1.0, "what was measured is never made less"


def test_each_step_names_what_moves_it() -> None:
    blocks: Any = call() | {"block_bytes": 8000}
    movers = {row["step"]: row["mover"] for row in breakdown(turns(), blocks)}
    assert "on the way leaf0 up" in movers["hardware"]
    assert "btl_vader_single_copy_mechanism = 1 (CMA" in movers["messages"]
    assert "btl_vader_eager_limit = 4,096 B" in movers["messages"]
    assert movers["contention"] == "placement; routes"
    assert movers["algorithm"].startswith("coll_tuned_alltoallv_algorithm (the library's own choice; there are basic")


@pytest.mark.parametrize(("within", "between", "named"), [(2e-3, 1e-3, True), (1e-5, 3e-3, False), (2e-3, 0.0, True)])
def test_messages_between_nodes_that_take_the_time_name_no_knob_of_shared_memory(
    within: float, between: float, named: bool
) -> None:
    rows = breakdown(turns({**PLAIN, "within": within, "between": between}))
    (mover,) = (row["mover"] for row in rows if row["step"] == "messages")
    assert ("btl_vader_eager_limit" in mover) == named
    assert ("btl_tcp_eager_limit" in mover) == (between > 0)


@pytest.mark.parametrize(
    ("more", "nodes", "named"),
    [
        ("", 4, "node.latency = 300 ns; network.latency = 1 us"),
        ("", 1, "node.latency = 300 ns"),
        ('overhead = "4 us"\n', 4, "node.latency = 300 ns; network.overhead = 4 us; network.latency = 1 us"),
    ],
)
def test_a_models_messages_cost_what_its_file_says_and_an_eager_limit_costs_nothing(
    tmp_path: Path, more: str, nodes: int, named: str
) -> None:
    path = tmp_path / "model.toml"
    path.write_text(
        'name = "m"\nkind = "simulated"\n[node]\nnames = "n[1-4]"\ncores = 2\nlatency = "300 ns"\n'
        '[network]\ntopology = "star"\n'
        f'latency = "1 us"\nadapter_rate = "1 GB/s"\neager_limit = "16 KiB"\n{more}'
    )
    cells: Any = {"c000": cell(nodes=nodes)}
    rows = breakdown_rows(turns(), [call()], cells, {"c000": Settings("SMPI", {})}, load_fabric(path))
    assert [row["mover"] for row in rows if row["step"] == "messages"] == [named]


def sample(**more: Any) -> dict[str, Any]:
    row = {"cell": "c000", "launch": 1, "op": "C", "iteration": 0, "first": 0, "last_start": 0, "end": 1000}
    return row | {"longest": 900, "batch": 1, "definition": "global"} | more


def medians_of(rows: list[dict[str, Any]]) -> list[TurnRow]:
    return medians(ibis.memtable(rows))


def test_a_turn_lasts_from_the_last_arrival_on() -> None:
    (row,) = medians_of([sample(last_start=400, iteration=number) for number in range(3)])
    assert (row["seconds"], row["total_s"], row["mean_s"], row["samples"]) == pytest.approx((600e-9, 1e-6, 1e-6, 3))


def test_without_synchronised_clocks_nobody_is_called_late() -> None:
    (row,) = medians_of([sample(last_start=400, definition="local")])
    assert (row["seconds"], row["total_s"], row["mean_s"]) == pytest.approx((900e-9, 900e-9, 900e-9))


def test_a_batch_is_shared_out() -> None:
    (row,) = medians_of([sample(batch=10, last_start=100)])
    assert (row["seconds"], row["mean_s"]) == pytest.approx((90e-9, 100e-9))
    assert row["total_s"] == pytest.approx(100e-9)


def test_each_round_keeps_its_place() -> None:
    rows = medians_of([sample(op="C:rounds", iteration=d, longest=10 * d, definition="local") for d in range(3)])
    assert [row["place"] for row in rows] == [0, 1, 2]
    assert [row["seconds"] for row in rows] == pytest.approx([0.0, 1e-8, 2e-8])
