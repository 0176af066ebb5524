# SPDX-License-Identifier: BSD-3-Clause
"""What a fluid on minimal routes leaves out: bounds and modelled times become ranges, by named effects."""

from types import SimpleNamespace
from typing import Any

import pytest

from weft.analyse.ranges import range_findings, ranged
from weft.bound.placed import CAUSES, RETRANSMISSION_S, bounds, effects, left_out
from weft.bound.terms import Bound, Effect, PlacedCell
from weft.fabric import Fabric, load_fabric
from weft.kernel.collective.traffic import CollectiveTraffic
from weft.kernel.studies import load_study
from weft.plan.make import make_plan

FLY: dict[str, Any] = {
    "topology": "dragonfly",
    "dragonfly": {
        "nodes_per_router": 2, "routers_per_group": 4, "global_links": 1, "groups": 5,
        "local_rate": "1 GB/s", "global_rate": "1 GB/s",
    },
}  # fmt: skip
CROWDED: dict[str, Any] = {"transport": "tcp", "flow_penalty": 1.35}
RING: dict[str, Any] = {"topology": "torus", "torus": {"dimensions": [8], "link_rate": "1 GB/s"}}


def fabric(nodes: int = 40, sources: dict[str, str] | None = None, **network: Any) -> Fabric:
    return Fabric.model_validate(
        {
            "name": "f",
            "kind": "simulated",
            "node": {"names": f"n[1-{nodes}]", "cores": 8, "copy_rate": "80 GB/s"},
            "network": {"latency": "1 us", "adapter_rate": "4 GB/s", **network},
            # a machine to which nothing was fitted has another range besides (tests/unit/analyse/test_unfitted.py)
            "sources": {"node.copy_rate": "fitted to a run"} | (sources or {}),
        }
    )


def cell(where: Fabric, nodes: int, ranks_per_node: int = 2) -> PlacedCell:
    p = nodes * ranks_per_node
    values = {"n": p * p * 1000, "m": 125, "data": "contention", "calls": ["A", "C"]}  # blocks of 1 MB
    return PlacedCell("exchange", nodes, ranks_per_node, p, where.hosts[:nodes], values)


def bound_of(where: Fabric, nodes: int = 40, ranks_per_node: int = 2) -> Bound:
    return bounds(cell(where, nodes, ranks_per_node), where)["C"]


def test_minimal_routes_have_one_bound_and_adaptive_ones_a_range_that_ends_there() -> None:
    # a job in two of the five groups: one cable joins them, and four leave each
    minimal, adaptive = bound_of(fabric(**FLY), 16), bound_of(fabric(**FLY, routing="adaptive"), 16)
    assert minimal.effects == ()
    assert adaptive.seconds < minimal.seconds  # cuts: no routing can beat them
    assert adaptive.most_s == pytest.approx(minimal.seconds)
    assert adaptive.causes == "adaptive routing"
    assert adaptive.seconds == pytest.approx(minimal.seconds / 4)
    # all groups at once load all cables alike, by minimal routes too: nothing is left out
    assert bound_of(fabric(**FLY, routing="adaptive")).effects == ()


def test_valiant_routes_load_the_cuts_twice() -> None:
    adaptive, valiant = bound_of(fabric(**FLY, routing="adaptive")), bound_of(fabric(**FLY, routing="valiant"))
    narrow = bound_of(fabric(**FLY, routing="valiant"), 16)
    assert narrow.seconds < 2 * narrow.seconds < narrow.most_s  # one cable is still worse than twice the cuts
    assert valiant.seconds == adaptive.seconds
    (effect,) = valiant.effects
    assert effect.cause == "valiant routing"
    cuts = max(seconds for name, seconds in valiant.terms.items() if name.startswith("link "))
    assert valiant.most_s == pytest.approx(max(2 * cuts, adaptive.most_s))


def test_a_ring_cannot_spread_an_all_to_all_over_more_than_its_cut() -> None:
    where = fabric(8, **RING, routing="adaptive")
    assert bound_of(where, 8).seconds >= bound_of(fabric(8, **RING), 8).seconds * 0.5


def test_routing_is_refused_where_routes_are_given() -> None:
    with pytest.raises(ValueError, match="for a dragonfly or a torus"):
        fabric(routing="adaptive")


@pytest.mark.parametrize(
    ("changed", "share"),
    [({"flow_penalty": 1.35}, 0.35), ({"flow_penalty": 2.0}, 1.0), ({}, 0.0)],
)
def test_flows_of_one_adapter_may_take_longer_by_the_stated_penalty(changed: dict[str, Any], share: float) -> None:
    found = bound_of(fabric(4, **changed), 4)
    assert found.most_s == pytest.approx(found.seconds + share * found.terms["injection"])


def test_a_fitted_rate_has_the_penalty_in_it_already() -> None:
    assert bound_of(fabric(4, {"network.adapter_rate": "fitted to a run"}, flow_penalty=1.35), 4).effects == ()


def test_nothing_is_left_out_on_one_node_or_of_a_measured_fabric() -> None:
    where = fabric(4, flow_penalty=1.35, transport="tcp")
    assert bound_of(where, 1).effects == ()
    real = where.model_copy(update={"kind": "slurm"})
    assert bound_of(real, 4).effects == ()


@pytest.mark.parametrize(
    ("collective", "block", "transport", "seen"),
    [
        ("gather", 4096, "tcp", True),
        ("gather", 1024, "tcp", False),  # 24 blocks fit what a switch holds for a port
        ("gather", 4096, "lossless", False),
        ("scatter", 4096, "tcp", False),  # one sends to many
        ("bcast", 4096, "tcp", False),
        ("alltoall", 4096, "tcp", True),
    ],
)
def test_many_to_one_over_tcp_may_collapse(collective: str, block: int, transport: str, seen: bool) -> None:
    where = fabric(4, transport=transport)
    traffic = CollectiveTraffic(collective, block, 32)
    found = effects(traffic, cell(where, 4, 8), where, {})
    assert [effect.cause for effect in found] == (["incast"] if seen else [])
    if seen:
        assert found[0].more_s == RETRANSMISSION_S  # the bytes alone take far less


def test_a_modelled_time_is_told_as_its_range_and_a_measured_one_is_left_alone() -> None:
    shape = cell(fabric(4), 4)
    effect = Effect(cause="adaptive routing", less_s=0.3, more_s=0.5)
    bound = Bound(seconds=0.9, name="injection", terms={"injection": 0.9}, effects=(effect,))
    planned: Any = SimpleNamespace(**vars(shape), bounds={"C": bound}, oversubscribed=False)
    row: Any = {"call": "C", "median_s": 1.0, "low_s": None, "high_s": None, "interval": "none", "cell": "c000"}
    row |= {"nodes": 4, "ranks": 8, "oversubscribed": False, "status": "ok", "kernel": "exchange"}
    told = ranged(dict(row), planned, fabric(4))  # pyright: ignore[reportArgumentType]
    assert (told["low_s"], told["high_s"], told["interval"]) == (0.9, 1.5, "range of the model")  # not under the bound
    (found,) = range_findings([told], {"c000": planned}, fabric(4))
    assert found["what"].startswith("adaptive routing is not modelled")
    assert "between 900 ms and 1.50 s" in found["what"]
    measured = ranged(row | {"interval": "over launches", "low_s": 0.99, "high_s": 1.01}, planned, fabric(4))
    assert (measured["low_s"], measured["high_s"]) == (0.99, 1.01)


@pytest.mark.parametrize(
    ("call", "network", "causes", "span"),
    [
        ("allreduce@262144", FLY | {"routing": "adaptive"}, ["adaptive routing", "incast"], (0.1, 1.2)),
        ("allreduce@262144", FLY | {"routing": "valiant"}, ["valiant routing", "incast"], (0.1, 2.2)),
        ("alltoall@262144", FLY | {"routing": "adaptive"}, ["incast"], (1.0, 1.2)),
        ("allreduce@262144", FLY, ["incast"], (1.0, 1.2)),
        # a barrier has no bytes: nothing that slows flows can slow it, whatever transport and penalty the fabric states
        ("barrier", FLY | CROWDED, [], (None, None)),
        ("barrier", FLY | CROWDED | {"routing": "adaptive"}, ["adaptive routing"], (0.0, 1.0)),
    ],
)
def test_which_ranks_a_collective_sends_to_is_known_of_all_to_alls_alone(
    call: str, network: dict[str, Any], causes: list[str], span: tuple[float | None, float | None]
) -> None:
    where = fabric(**network)
    bound = Bound(seconds=0.1, name="latency", terms={"latency": 0.1}, effects=(Effect(cause="incast", more_s=0.2),))
    planned: Any = SimpleNamespace(**vars(cell(where, 4)) | {"kernel": "collective", "parameters": {}})
    planned.bounds = {} if call == "barrier" else {call: bound}
    assert [effect.cause for effect in left_out(planned, call, where, 1.0)] == causes
    row: Any = {"call": call, "median_s": 1.0, "low_s": None, "high_s": None, "interval": "none"}
    told = ranged(row, planned, where)
    assert (told["low_s"], told["high_s"]) == (span if span[0] is None else pytest.approx(span))


REPLAY = {"computed_ns": 200_000_000, "compute": 2.0}  # 0.4 s of a replay are computation


@pytest.mark.parametrize(
    ("network", "low_s", "high_s", "cause"),
    [
        (FLY | {"routing": "adaptive"}, 0.4, 1.0, "adaptive routing"),
        (FLY | {"routing": "valiant"}, 0.4, 1.6, "valiant routing"),
        ({"flow_penalty": 1.5}, 1.0, 1.3, "flows through one adapter"),
        ({"transport": "tcp"}, 1.0, 6.4, "incast"),
        ({}, None, None, ""),
    ],
)
def test_a_replay_whose_traffic_nobody_knows_is_a_range_as_wide_as_its_calls(
    network: dict[str, Any], low_s: float | None, high_s: float | None, cause: str
) -> None:
    # it had no bound, and so its time was a single number on any network
    where = fabric(**network)
    planned: Any = SimpleNamespace(**vars(cell(where, 4)) | {"kernel": "replay", "parameters": REPLAY}, bounds={})
    row: Any = {"call": "replay", "median_s": 1.0, "low_s": None, "high_s": None, "interval": "none", "cell": "c0"}
    row |= {"nodes": 4, "ranks": 8, "oversubscribed": False, "status": "ok", "kernel": "replay"}
    told = ranged(row, planned, where)
    assert (told["low_s"], told["high_s"]) == (low_s and pytest.approx(low_s), high_s and pytest.approx(high_s))
    found = range_findings([told], {"c0": planned}, where)
    assert [each["what"].split(" is not modelled")[0] for each in found] == ([cause] if cause else [])


@pytest.mark.parametrize(
    ("network", "mode", "span"),
    [
        ({"routing": "adaptive"}, "all", "17.0 us and 100 us"),  # 1 us, and 64 KB over an adapter of 4 GB/s
        ({"routing": "valiant"}, "all", "17.0 us and 200 us"),
        ({"flow_penalty": 1.5}, "all", "100 us and 150 us"),
        ({"flow_penalty": 1.5}, "node", ""),  # one flow an adapter
        ({"transport": "tcp"}, "all", "100 us and 200 ms"),  # of two times 8 B nothing is lost
        ({"transport": "tcp"}, "node", ""),
        ({}, "all", ""),
        ({"routing": "adaptive"}, "isolated", ""),
    ],
)
def test_times_of_pairs_side_by_side_are_told_with_their_range(network: dict[str, Any], mode: str, span: str) -> None:
    # The note said that these times were told without it.
    where = fabric(**FLY, **network)
    values = {"mode": mode, "contention": False}
    planned: Any = SimpleNamespace(**vars(cell(where, 4)) | {"kernel": "pairs", "parameters": values}, bounds={})
    row: Any = {"call": "pairs", "kernel": "pairs", "status": "ok", "cell": "c0", "interval": "", "median_s": None}
    row |= {"nodes": 4, "ranks": 8}
    each: Any = {"nodes": 4, "ranks": 8, "bytes": 64_000, "mode": mode, "hops": 3, "class": "3 hops", "median_s": 1e-4}
    small, within = each | {"bytes": 8, "median_s": 1e-6}, each | {"hops": 0}
    found = range_findings([row], {"c0": planned}, where, [each, small, within])
    told = [(note["where"].split(" (and")[0], note["what"].split(" between ")[1]) for note in found]
    assert told == ([(f"62.5 KiB, {mode}, 3 hops", span)] if span else [])


def test_every_effect_has_its_words() -> None:
    assert set(CAUSES) == {"adaptive routing", "valiant routing", "flows through one adapter", "incast"}


def test_gathers_of_paper_004_are_ranges_on_ethernet_and_none_on_infiniband() -> None:
    def widened(name: str) -> set[str]:
        plan = make_plan(load_study("biruni-collectives"), load_fabric(name))
        return {call for each in plan.measured for call, bound in each.bounds.items() if "incast" in bound.causes}

    razi = widened("biruni-ethernet")
    assert {"gather@65536", "alltoall@65536"} <= razi
    assert not {"gather@64", "scatter@65536", "bcast@65536"} & razi
    assert widened("biruni-infiniband") == set()
