# SPDX-License-Identifier: BSD-3-Clause
"""Two jobs on the same cables: hand-made cases of max-min fairness, and which cable is named."""

from typing import Any

import pytest

from weft.bound.shared import share_links
from weft.fabric import Fabric


def fabric(uplinks: int = 1, link: str = "4 MB/s", routing: str = "tables", kind: str = "virtual") -> Fabric:
    tree = {"nodes_per_leaf": 4, "uplinks": uplinks, "link_rate": link}
    network: dict[str, Any] = {"topology": "fat-tree", "adapter_rate": "4 MB/s", "routing": routing, "tree": tree}
    return Fabric.model_validate(
        {"name": "f", "kind": kind, "node": {"names": "n[0-7]", "cores": 1}, "network": network}
    )


def test_two_streams_on_one_cable_take_twice_as_long() -> None:
    found = share_links([("n0", "n4")], [("n1", "n5")], 100, fabric())
    assert found is not None
    assert found.factor == pytest.approx(2)
    assert found.link == "leaf0 -> spine0"


def test_messages_the_other_way_share_nothing() -> None:
    found = share_links([("n0", "n4")], [("n5", "n1")], 100, fabric())
    assert found is not None
    assert (found.link, found.factor) == ("", 1.0)


def test_a_job_on_its_own_leaf_shares_nothing() -> None:
    found = share_links([("n0", "n1"), ("n2", "n3")], [("n4", "n5"), ("n6", "n7")], 100, fabric())
    assert found is not None
    assert (found.link, found.factor) == ("", 1.0)


def test_traffic_that_another_link_holds_back_leaves_the_rest() -> None:
    """An incast of three gets 4 / 3 MB/s each at its target: two of them cross the cable, a fast one."""
    beside = [("n1", "n5"), ("n2", "n5"), ("n6", "n5")]
    found = share_links([("n0", "n4")], beside, 100, fabric(link="5 MB/s"))
    assert found is not None
    assert found.factor == pytest.approx(4 / (5 - 8 / 3))
    alone = share_links([("n0", "n4")], beside[:1], 100, fabric(link="8 MB/s"))
    assert alone is not None
    assert alone.factor == pytest.approx(1)
    assert alone.link == "leaf0 -> spine0"  # both use it, and it is wide enough


def test_messages_of_one_burst_go_at_the_pace_of_its_slowest() -> None:
    """Of a job's two streams one is held back to 2 MB/s by a third: the other one then leaves 2 MB/s, too."""
    beside = [("n1", "n5"), ("n2", "n3")]
    found = share_links([("n7", "n3")], beside, 100, fabric())
    assert found is not None
    assert found.factor == pytest.approx(2)
    assert found.link == "leaf0 -> n3"


def test_a_call_ends_with_its_last_message_whose_rate_rises_when_others_have_ended() -> None:
    # alone: n0 sends two at 2 MB/s each; beside: the one over the cable has a third of it while the other is under way
    found = share_links([("n0", "n4"), ("n0", "n1")], [("n2", "n5"), ("n3", "n6")], 100, fabric())
    assert found is not None
    first = 4 / 3  # MB/s over the cable
    assert found.factor == pytest.approx((1 / first) / (1 / 2))


def test_traffic_of_half_of_the_time_slows_down_less() -> None:
    found = share_links([("n0", "n4")], [("n1", "n5")], 50, fabric())
    assert found is not None
    assert found.factor == pytest.approx(1 / (0.5 + 0.5 / 2))


def test_hashed_ways_are_known_only_where_there_is_one() -> None:
    assert share_links([("n0", "n4")], [("n1", "n5")], 100, fabric(uplinks=2, routing="ecmp")) is None
    assert share_links([("n0", "n4")], [("n1", "n5")], 100, fabric(uplinks=1, routing="ecmp")) is not None
    assert share_links([("n0", "n1")], [("n1", "n0")], 100, fabric(uplinks=2, routing="ecmp")) is not None


def test_a_real_fabric_without_tables_has_no_known_routes() -> None:
    assert share_links([("n0", "n4")], [("n1", "n5")], 100, fabric(routing="minimal", kind="slurm")) is None
