# SPDX-License-Identifier: BSD-3-Clause
"""Two jobs on the same cables: hand-made cases, rates of sockets, and which cable is named."""

from typing import Any

import pytest

from weft.bound.shared import find_flows, share_by_windows, share_links
from weft.fabric import Fabric
from weft.fabric.network.build import build_network


def fabric(uplinks: int = 1, link: str = "4 MB/s", routing: str = "tables", kind: str = "virtual") -> Fabric:
    tree = {"nodes_per_leaf": 4, "uplinks": uplinks, "link_rate": link}
    network: dict[str, Any] = {"topology": "fat-tree", "adapter_rate": "4 MB/s", "routing": routing, "tree": tree}
    return Fabric.model_validate(
        {"name": "f", "kind": kind, "node": {"names": "n[0-7]", "cores": 1}, "network": network}
    )


def fair(uplinks: int = 1, link: str = "4 MB/s") -> Fabric:
    """A network whose links share alike, whatever the length of a path."""
    tree = {"nodes_per_leaf": 4, "uplinks": uplinks, "link_rate": link}
    network: dict[str, Any] = {"topology": "fat-tree", "adapter_rate": "4 MB/s", "latency": "10 ms", "tree": tree}
    rest: dict[str, Any] = {"node": {"names": "n[0-7]", "cores": 1}, "simulation": {"sharing": "equal"}}
    return Fabric.model_validate({"name": "f", "kind": "simulated", "network": network, **rest})


def test_two_streams_on_one_cable_take_twice_as_long() -> None:
    found = share_links([("n0", "n4")], [("n1", "n5")], 100, fair())
    assert found is not None
    assert found.factor == pytest.approx(2)
    assert found.link == "leaf0 -> spine0"


def test_messages_the_other_way_share_nothing() -> None:
    found = share_links([("n0", "n4")], [("n5", "n1")], 100, fair())
    assert found is not None
    assert (found.link, found.factor) == ("", 1.0)


def test_a_job_on_its_own_leaf_shares_nothing() -> None:
    found = share_links([("n0", "n1"), ("n2", "n3")], [("n4", "n5"), ("n6", "n7")], 100, fair())
    assert found is not None
    assert (found.link, found.factor) == ("", 1.0)


def test_traffic_that_another_link_holds_back_leaves_the_rest() -> None:
    """An incast of three gets 4 / 3 MB/s each at its target, whatever the cable carries."""
    beside = [("n1", "n5"), ("n2", "n5"), ("n3", "n5")]
    found = share_links([("n0", "n4")], beside, 100, fair(link="6 MB/s"))
    assert found is not None
    assert found.factor == pytest.approx(4 / (6 - 4))
    alone = share_links([("n0", "n4")], beside[:1], 100, fair(link="8 MB/s"))
    assert alone is not None
    assert alone.factor == pytest.approx(1)
    assert alone.link == "leaf0 -> spine0"  # both use it, and it is wide enough


def test_flows_of_one_latency_share_alike_over_paths_of_any_length() -> None:
    """A near sender and two far ones get 4 / 3 MB/s each at their target, which leaves 4 / 3 MB/s of the cable."""
    found = share_links([("n4", "n0")], [("n1", "n3"), ("n5", "n3"), ("n6", "n3")], 100, fair())
    assert found is not None
    assert found.factor == pytest.approx(3, rel=5e-3)


def test_no_flow_of_a_job_waits_for_another_one() -> None:
    """Two of three share an adapter: what each of them leaves of the cable goes to the call, not to the third."""
    beside = [("n1", "n5"), ("n1", "n6"), ("n2", "n3")]
    found = share_links([("n0", "n4")], beside, 100, fair(link="6 MB/s"))
    assert found is not None
    assert found.factor == pytest.approx(4 / 2)
    assert found.link == "leaf0 -> spine0"


def test_each_message_under_way_has_a_share_in_a_simulator_and_each_connection_elsewhere() -> None:
    own, beside = [("n0", "n4")], [("n1", "n5")]
    for where, factor in ((fair(), 1 + 8 / 2), (fabric(), 2)):
        found = share_links(own, beside, 100, where, (2, 8))
        assert found is not None
        assert found.factor == pytest.approx(factor, rel=5e-3)


def test_a_flow_over_a_longer_path_has_a_smaller_share_in_a_simulator() -> None:
    # both to n4: over four links, and over two
    found = share_links([("n0", "n4")], [("n5", "n4")], 100, fabric(kind="simulated", routing="minimal"))
    assert found is not None
    assert found.factor == pytest.approx(3, rel=1e-3)


def test_a_call_ends_with_its_last_message_whose_rate_rises_when_others_have_ended() -> None:
    # alone: n0 sends two at 2 MB/s each; beside: the one over the cable has a third of it while the other is under way
    found = share_links([("n0", "n4"), ("n0", "n1")], [("n2", "n5"), ("n3", "n6")], 100, fair())
    assert found is not None
    first = 4 / 3  # MB/s over the cable
    assert found.factor == pytest.approx((1 / first) / (1 / 2), rel=1e-3)


def test_traffic_of_half_of_the_time_slows_down_less() -> None:
    found = share_links([("n0", "n4")], [("n1", "n5")], 50, fair())
    assert found is not None
    assert found.factor == pytest.approx(1 / (0.5 + 0.5 / 2))


VICTIMS, OTHERS = (0, 2, 4, 6), (1, 3, 5, 7)
STREAMS, EXCHANGE, ALL = (
    [(0, 4), (2, 6)],
    *([(a, b) for a in job for b in job if a != b] for job in (VICTIMS, OTHERS)),
)
SHIFT, INCAST = [(1, 5), (3, 7), (5, 1), (7, 3)], [(3, 1), (5, 1), (7, 1)]
# MB/s of sockets with a receive window of 64 or 96 KiB on this very network, means of 3 s
MEASURED: list[tuple[list[tuple[int, int]], list[tuple[int, int]], dict[tuple[int, int], float]]] = [
    (STREAMS, [(1, 5), (3, 7)], {(0, 4): 0.97, (1, 5): 0.98}),
    (STREAMS, ALL, {(0, 4): 0.77, (1, 5): 0.60}),
    (STREAMS, SHIFT, {(0, 4): 1.01, (1, 5): 0.97}),
    ([(0, 4)], [(5, 1), (6, 1)], {(0, 4): 2.00, (5, 1): 1.97}),
    ([(0, 4), (1, 4)], [(5, 1), (6, 1)], {(0, 4): 1.98, (5, 1): 1.97}),
    ([(0, 4)], [(5, 1)], {(0, 4): 3.95, (5, 1): 3.93}),
    (EXCHANGE, INCAST, {(0, 4): 0.64, (5, 1): 0.68}),
    (EXCHANGE, ALL, {(0, 4): 0.49, (1, 5): 0.48}),
    (EXCHANGE, SHIFT, {(0, 4): 0.60, (1, 5): 0.76}),
    (EXCHANGE, [(b, a) for a, b in INCAST], {(0, 4): 0.63, (1, 5): 0.71}),
    (
        [(a, b) for a in (2, 4, 5, 7) for b in (2, 4, 5, 7) if a != b],
        [(0, 1), (0, 3), (0, 6)],
        {(2, 4): 0.96, (4, 5): 1.49, (0, 1): 1.45, (0, 6): 1.03},
    ),
]


@pytest.mark.parametrize(("own", "beside", "measured"), MEASURED)
def test_connections_with_windows_share_as_measured(
    own: list[tuple[int, int]], beside: list[tuple[int, int]], measured: dict[tuple[int, int], float]
) -> None:
    """A connection that waits in two queues gets less of a cable; its acknowledgements wait on the way back."""
    where = fabric()
    network = build_network(where)
    flows = find_flows(where, network, [(f"n{a}", f"n{b}") for a, b in own + beside], 1)
    assert flows is not None
    found = dict(zip(own + beside, share_by_windows(flows, network.links.rate) / 1e6, strict=True))
    assert {pair: found[pair] for pair in measured} == pytest.approx(measured, rel=0.06)


def test_acknowledgements_are_a_use_of_a_cable() -> None:
    found = share_links([("n0", "n4")], [("n5", "n1"), ("n6", "n1")], 100, fabric())
    assert found is not None
    assert found.link in ("leaf1 -> spine0", "spine0 -> leaf0")
    assert found.factor == pytest.approx(3.94 / 2.0, rel=0.03)


@pytest.mark.parametrize(("flows", "named"), [(600, True), (25_001, False)])
def test_the_cable_of_more_connections_than_a_prediction_follows_is_named(flows: int, named: bool) -> None:
    """Above 1,000 of them the cable was not known, either."""
    found = share_links([("n0", "n4")] * flows, [("n1", "n5")] * flows, 100, fabric())
    assert (found is not None) == named
    if found is not None:
        assert (found.link, found.factor) == ("leaf0 -> spine0", None)
    apart = share_links([("n0", "n1")] * 600, [("n2", "n3")] * 600, 100, fabric())
    assert apart is not None
    assert (apart.link, apart.factor) == ("", 1.0)


def test_hashed_ways_are_known_only_where_there_is_one() -> None:
    assert share_links([("n0", "n4")], [("n1", "n5")], 100, fabric(uplinks=2, routing="ecmp")) is None
    assert share_links([("n0", "n4")], [("n1", "n5")], 100, fabric(uplinks=1, routing="ecmp")) is not None
    assert share_links([("n0", "n1")], [("n1", "n0")], 100, fabric(uplinks=2, routing="ecmp")) is not None


def test_a_real_fabric_without_tables_has_no_known_routes() -> None:
    assert share_links([("n0", "n4")], [("n1", "n5")], 100, fabric(routing="minimal", kind="slurm")) is None
