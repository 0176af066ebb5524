# SPDX-License-Identifier: BSD-3-Clause
"""What would help: never more than the step, or the floor, can give; nothing where nothing is known."""

from types import SimpleNamespace
from typing import Any, cast

import pytest

from weft.analyse.remedies import bound_remedies, remedies
from weft.analyse.tables.answers import WinnerRow
from weft.analyse.tables.breakdown import STEPS, BreakdownRow
from weft.analyse.tables.times import CallRow
from weft.bound.placed import bounds
from weft.bound.terms import PlacedCell
from weft.fabric import load_fabric
from weft.fabric.model import Fabric

TIMES = {"hardware": 8e-3, "messages": 8e-3, "contention": 10e-3, "algorithm": 10e-3, "arrival": 10e-3}


def breakdown(times: dict[str, float] = TIMES, bound: str = "link leaf0 up", unsure: str = "") -> list[BreakdownRow]:
    rows: list[BreakdownRow] = []
    before: float | None = None
    for step in (each for each in STEPS if each in times):
        factor = times[step] / before if before else None
        effect = (
            "floor" if not factor else "none" if factor == 1 or step == unsure else "adds" if factor > 1 else "saves"
        )
        row = {"cell": "c000", "call": "C", "nodes": 4, "ranks": 8, "step": step, "seconds": times[step]}
        row |= {"factor": factor, "effect": effect, "mover": f"what moves {step}"}
        rows.append(cast(BreakdownRow, row | {"name": bound if step == "hardware" else "shift"}))
        before = times[step]
    return rows


def cell(**terms: float) -> SimpleNamespace:
    named = {name.replace("_", " "): each for name, each in terms.items()}
    bounds = {"C": SimpleNamespace(terms=named)} if terms else {}
    return SimpleNamespace(
        nodes=4, ranks_per_node=2, ranks=8, bounds=bounds, kernel="exchange", block_bytes=1000,
        parameters=dict[str, Any](),
    )  # fmt: skip


def saved(rows: list[BreakdownRow], of: SimpleNamespace | None = None, **more: Any) -> dict[str, tuple[float, str]]:
    found = remedies(rows, more.get("winners", []), {"c000": of or cell()}, more.get("modelled", False))
    assert [row["saves_s"] for row in found] == sorted((row["saves_s"] for row in found), reverse=True)
    return {row["id"]: (row["saves_s"], row["basis"]) for row in found}


def test_contention_can_at_most_be_taken_away() -> None:
    assert saved(breakdown()) == {"placement": (pytest.approx(2e-3), "only bounded")}


def test_no_step_saves_more_than_what_stands_above_the_floor() -> None:
    """Messages alone took 453 ms, the whole call 384 of which the link needs 343: "saves at most 29 %"."""
    times = {"hardware": 343e-3, "messages": 453e-3, "contention": 400e-3, "algorithm": 378e-3, "arrival": 384e-3}
    assert saved(breakdown(times))["cheaper-messages"][0] == pytest.approx(41e-3)


def test_what_may_be_noise_is_no_remedy() -> None:
    assert saved(breakdown(unsure="contention")) == {}


def test_plain_rounds_that_are_faster_were_measured() -> None:
    found = saved(breakdown(TIMES | {"algorithm": 30e-3, "arrival": 30e-3}))
    assert found["plain-rounds"] == (pytest.approx(20e-3), "measured")
    found = saved(breakdown(TIMES | {"algorithm": 30e-3, "arrival": 30e-3}), modelled=True)
    assert found["plain-rounds"][1] == "simulated"


def test_an_algorithm_better_than_plain_is_not_to_be_changed() -> None:
    assert not any("plain-rounds" in name for name in saved(breakdown(TIMES | {"algorithm": 5e-3, "arrival": 5e-3})))


def test_twice_the_cables_help_down_to_the_next_bound() -> None:
    found = saved(breakdown(), cell(link_leaf0_up=8e-3, injection=2e-3))
    assert found["second-cable"] == (pytest.approx(5e-3), "only bounded"), "half of 10 ms"
    found = saved(breakdown(), cell(link_leaf0_up=8e-3, injection=7.2e-3))
    assert found["second-cable"] == (pytest.approx(2.8e-3), "only bounded"), "down to injection"
    assert "faster-adapter" not in found


def test_a_faster_adapter_helps_where_injection_binds() -> None:
    found = saved(breakdown(bound="injection"), cell(injection=8e-3, memory_copy=1e-3))
    assert found["faster-adapter"] == (pytest.approx(5e-3), "only bounded")


SPREAD = "spread-ranks"


@pytest.mark.parametrize(
    ("collective", "uplinks", "nodes", "fabric_nodes", "share"),
    [
        ("alltoall", 8, 2, 16, 6 / 8),  # of 4 ranks a node each sends 4 (8 - 4) blocks, of 2 on four nodes 2 (8 - 2)
        ("alltoall", 1, 2, 16, None),  # two nodes of one leaf use no uplink; four nodes under two leaves fill it
        ("alltoall", 8, 2, 3, None),  # the fabric has no twice as many
        ("scatter", 8, 2, 16, None),  # the root's node then sends more
        ("bcast", 8, 2, 16, None),  # every node still gets the whole message
        ("alltoall", 8, 1, 16, None),
    ],
)
def test_fewer_ranks_a_node_are_advised_where_the_bound_of_that_placement_is_lower(
    collective: str, uplinks: int, nodes: int, fabric_nodes: int, share: float | None
) -> None:
    fabric = Fabric.model_validate(
        {
            "name": "f", "kind": "simulated", "node": {"names": f"n[1-{fabric_nodes}]", "cores": 8},
            "network": {
                "adapter_rate": "1 GB/s", "topology": "fat-tree",
                "tree": {"nodes_per_leaf": 2, "uplinks": uplinks, "link_rate": "1 GB/s"},
            },
        }
    )  # fmt: skip
    parameters = {"collective": collective, "form": "plain", "pattern": "equal", "bytes": [1 << 20], "root": 0}
    placed = PlacedCell("collective", nodes, 4, 4 * nodes, tuple(f"n{1 + i}" for i in range(nodes)), parameters)
    planned = bounds(placed, fabric)
    name = f"{collective}@{1 << 20}"
    floor_s = planned[name].seconds if name in planned else 1e-3
    of: Any = SimpleNamespace(**vars(placed), bounds=planned)
    row = call(call=name, bound="injection", bound_s=1.1 * floor_s, min_s=1.2 * floor_s, median_s=1.2 * floor_s)
    found = {each["id"]: each for each in bound_remedies([row], [], {"c000": of}, fabric=fabric)}
    if share is None:
        assert SPREAD not in found
    else:
        # at the rates that were measured: the run's own bound is a tenth above the planned one
        assert found[SPREAD]["saves_s"] == pytest.approx((1.2 - 1.1 * share) * floor_s)


def test_an_algorithm_that_won_is_named() -> None:
    won = {"call": "alltoall", "nodes": 4, "ranks": 8, "bytes": 64, "algorithm": "pairwise", "median_s": 4e-3}
    won |= {"default_s": 10e-3, "ratio": 0.4, "low": 0.35, "high": 0.45}
    rows = [cast(BreakdownRow, row | {"call": "alltoall@64"}) for row in breakdown()]
    found = saved(rows, winners=[cast(WinnerRow, won)])
    assert found["algorithm"] == (pytest.approx(6e-3), "measured")


def test_nothing_is_said_without_a_breakdown_or_a_bound() -> None:
    assert remedies([], [], {}, False) == []
    assert by_bound(call(bound_s=None, bound="")) == {}


def call(**changed: Any) -> CallRow:
    row = {"cell": "c000", "call": "C", "nodes": 4, "ranks": 8, "phase": "warm", "status": "ok"}
    row |= {"block_bytes": 1000, "array_bytes": None}
    row |= {"median_s": 10e-3, "min_s": 9e-3, "bound_s": 8e-3, "bound": "link leaf0 up"}
    return cast(CallRow, row | changed)


def by_bound(row: CallRow, breakdowns: list[BreakdownRow] | None = None, **terms: float) -> dict[str, float]:
    of = cell(**(terms or {"link_leaf0_up": 8e-3, "injection": 6e-3}))
    found = bound_remedies([row], breakdowns or [], cast(Any, {"c000": of}))
    assert {each["basis"] for each in found} <= {"only bounded"}
    return {each["id"]: each["saves_s"] for each in found}


def test_without_a_breakdown_the_bound_says_what_a_faster_part_saves_at_most() -> None:
    assert by_bound(call()) == {"second-cable": pytest.approx(4e-3)}, "down to injection"
    found = by_bound(call(bound="injection"), injection=8e-3, memory_copy=1e-3)
    assert found["faster-adapter"] == pytest.approx(5e-3)


def test_no_part_is_advised_that_explains_next_to_nothing_of_the_time() -> None:
    """Half the latency of 8 us "saves at most 50 %" of a call of 242 us that the latency explains 7 % of."""
    assert by_bound(call(bound_s=0.9e-3)) == {}
    assert by_bound(call(bound_s=1.1e-3), link_leaf0_up=1.1e-3, injection=0.2e-3) != {}


def test_of_a_call_by_several_algorithms_the_fastest_is_advised_and_each_size_for_itself() -> None:
    rows = [call(cell=name, median_s=seconds) for name, seconds in (("c000", 12e-3), ("c001", 10e-3), ("c002", 11e-3))]
    rows.append(call(cell="c002", block_bytes=2000, median_s=20e-3))
    cells = dict.fromkeys(("c000", "c001", "c002"), cell(link_leaf0_up=8e-3, injection=6e-3))
    found = bound_remedies(rows, [], cast(Any, cells))
    assert [(row["cell"], row["seconds"]) for row in found] == [("c001", 10e-3), ("c002", 20e-3)]


def test_cells_that_differ_in_more_than_the_algorithm_are_no_rivals() -> None:
    cells = {name: cell(link_leaf0_up=8e-3, injection=6e-3) for name in ("c000", "c001")}
    cells["c001"].parameters["hops"] = 2
    found = bound_remedies([call(), call(cell="c001", median_s=12e-3)], [], cast(Any, cells))
    assert [(row["cell"], row["floor_s"], row["floor"]) for row in found] == [
        (name, 6e-3, "injection") for name in ("c000", "c001")
    ]


def test_without_a_breakdown_a_faster_algorithm_is_advised_for_the_default() -> None:
    won = {"call": "alltoall", "nodes": 4, "ranks": 8, "bytes": 64, "algorithm": "pairwise", "median_s": 4e-3}
    won |= {"default_s": 10e-3, "ratio": 0.4, "low": 0.4, "high": 0.4}
    cells = {name: cell() for name in ("c000", "c001")}
    for name, algorithm in (("c000", "default"), ("c001", "pairwise")):
        cells[name].parameters["algorithm"] = algorithm
    rows = [call(cell=name, call="alltoall@64", bound_s=None) for name in cells]
    (row,) = bound_remedies(rows, [], cast(Any, cells), [cast(WinnerRow, won)], modelled=True)
    assert (row["cell"], row["id"], row["basis"]) == ("c000", "algorithm", "simulated")


def test_a_bound_that_a_sample_beat_advises_nothing() -> None:
    assert by_bound(call(min_s=7e-3)) == {}


def test_a_call_with_a_breakdown_is_advised_by_that_alone() -> None:
    assert by_bound(call(), breakdown()) == {}


@pytest.mark.parametrize("bound", ["overhead", "message gap"])
def test_a_call_bound_by_its_messages_is_advised_fewer_of_them_down_to_the_next_bound(bound: str) -> None:
    """Of "Yes: overhead" the cell had no remedy at its own cell."""
    terms = {bound.replace(" ", "_"): 8e-3, "memory_copy": 0.5e-3, "injection": 1e-3}
    found = by_bound(call(bound=bound), **terms)
    joined = found["node-messages"]
    assert joined == pytest.approx(5e-3), "of two ranks a node each sends half as many"
    (cheaper,) = [saves for remedy, saves in found.items() if "half" in remedy]
    assert cheaper == pytest.approx(5e-3)
    copying = by_bound(call(bound=bound), **(terms | {"memory_copy": 1.75e-3}))
    joined = copying["node-messages"]
    assert joined == pytest.approx(3e-3), "each byte that leaves one of four nodes is copied once more"


def test_a_model_names_the_key_that_states_what_a_message_costs() -> None:
    of = cell(overhead=8e-3)
    rows = bound_remedies(
        [call(bound="overhead")], [], cast(Any, {"c000": of}), modelled=True, fabric=load_fabric("tara")
    )
    assert ("half-overhead", "network.eager_overhead = 165 us") in [(row["id"], row["subject"]) for row in rows]


def test_what_is_no_all_to_all_is_not_told_to_join_messages() -> None:
    assert list(by_bound(call(bound="latency"), latency=8e-3)) == ["half-latency"]
    of = cell(overhead=8e-3)
    of.kernel, of.parameters = "collective", {"collective": "bcast"}
    found = bound_remedies([call(bound="overhead")], [], cast(Any, {"c000": cell(overhead=8e-3)}))
    assert len(found) == 2
    assert len(bound_remedies([call(bound="overhead")], [], cast(Any, {"c000": of}))) == 1
