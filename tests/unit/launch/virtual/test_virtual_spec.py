# SPDX-License-Identifier: BSD-3-Clause
"""What a virtual cluster may be: names, rates, and a tree."""

import json
from dataclasses import asdict, replace

import pytest

from weft.errors import FabricError
from weft.launch.virtual.spec import VirtualLink, VirtualSpec, too_fast

STAR = VirtualSpec("star", ("a", "b"), ("s",), (VirtualLink("a-s", "a", "s", 1e7), VirtualLink("b-s", "b", "s", 1e7)))


def test_what_the_hosts_inject_is_the_sum_of_their_links() -> None:
    assert "inject 20 MB/s in all" in too_fast(STAR, 0)


@pytest.mark.parametrize("name", ["", "-a", "a-", "a b", "a;b", "a.b", "x" * 64, "$(id)", "a\n"])
def test_a_name_that_no_host_can_have_is_refused(name: str) -> None:
    with pytest.raises(FabricError, match="cannot be the name of a virtual host"):
        VirtualSpec("f", (name,), ("s",), (VirtualLink("l", name, "s", 1e7),))


def test_a_name_given_twice_is_refused() -> None:
    with pytest.raises(FabricError, match="'a' names two"):
        replace(STAR, hosts=("a", "a"))
    with pytest.raises(FabricError, match="'a' names two"):
        replace(STAR, switches=("a",))


def test_a_loop_is_refused_before_a_bridge_drowns_in_it() -> None:
    ring = (
        *STAR.links,
        VirtualLink("s-t", "s", "t", 1e7),
        VirtualLink("s-t again", "s", "t", 1e7),
    )
    with pytest.raises(FabricError, match="s-t again closes a loop"):
        replace(STAR, switches=("s", "t"), links=ring)


def test_parts_that_do_not_hang_together_are_refused() -> None:
    apart = (VirtualLink("a-s", "a", "s", 1e7), VirtualLink("b-t", "b", "t", 1e7))
    with pytest.raises(FabricError, match="no link leads from a to b"):
        replace(STAR, switches=("s", "t"), links=apart)


def test_a_host_has_exactly_one_link() -> None:
    with pytest.raises(FabricError, match="b has 0 links"):
        replace(STAR, links=STAR.links[:1])
    both = (*STAR.links, VirtualLink("a-t", "a", "t", 1e7))
    with pytest.raises(FabricError, match="a has 2 links"):
        replace(STAR, switches=("s", "t"), links=both)


@pytest.mark.parametrize("rate", [0.0, -1.0, 999.0, float("nan"), float("inf")])
def test_a_rate_that_nothing_can_have_is_refused(rate: float) -> None:
    with pytest.raises(FabricError, match="has a rate of"):
        replace(STAR, links=(STAR.links[0], replace(STAR.links[1], rate=rate)))


def test_a_link_to_nowhere_is_refused() -> None:
    with pytest.raises(FabricError, match="ends at 'x'"):
        replace(STAR, links=(STAR.links[0], VirtualLink("b-x", "b", "x", 1e7)))


def test_a_cluster_without_hosts_is_refused() -> None:
    with pytest.raises(FabricError, match="has no nodes"):
        VirtualSpec("empty", (), ("s",), ())


def test_more_than_the_processors_carry_is_warned_of_with_a_rate_that_fits() -> None:
    def with_rate(rate: float) -> VirtualSpec:
        return replace(STAR, links=tuple(replace(link, rate=rate) for link in STAR.links))

    assert too_fast(with_rate(0.35e9), cores=2) == ""
    warning = too_fast(with_rate(0.36e9), cores=2)
    assert "inject 720 MB/s in all" in warning
    assert "2 core(s) carry about 700 MB/s" in warning
    assert "set adapter_rate to 350 MB/s or less" in warning
    assert too_fast(with_rate(0.36e9), cores=4) == ""


ROUTED = VirtualSpec(
    "routed",
    ("a", "b"),
    ("s", "t"),
    (*STAR.links[:1], VirtualLink("b-t", "b", "t", 1e7), VirtualLink("s1-t", "s", "t", 1e7),
     VirtualLink("s2-t", "s", "t", 1e7)),
    (((0,), (2, 3)), ((3, 2), (1,))),
    7,
)  # fmt: skip


def test_switches_that_route_may_have_parallel_cables_and_survive_json() -> None:
    assert VirtualSpec.from_record(json.loads(json.dumps(asdict(ROUTED)))) == ROUTED
    assert (ROUTED.spaces, STAR.spaces) == (("a", "b", "s", "t"), ("a", "b"))


@pytest.mark.parametrize(
    "ways",
    [
        (((0,), (2, 3)), ((), (1,))),  # no way back
        (((0,), (2,)), ((3,), (2,))),  # t sends b's packets to s again
        (((0,), (0,)), ((2,), (1,))),  # to the wrong host
    ],
)
def test_ways_that_do_not_lead_to_every_host_are_refused(ways: tuple[tuple[tuple[int, ...], ...], ...]) -> None:
    with pytest.raises(FabricError, match="no route from"):
        replace(ROUTED, ways=ways)


def test_a_host_without_a_switch_and_too_many_switches_are_refused() -> None:
    with pytest.raises(FabricError, match="has 65 switches"):
        replace(ROUTED, switches=("s", "t", *(f"x{k}" for k in range(63))))


@pytest.mark.parametrize("name", ["rack1/leaf0", "leaf 0", "$(touch x)", "", "-l"])
def test_a_switch_that_routes_has_a_name_that_files_and_shells_can_hold(name: str) -> None:
    """Names of a dump or of LLDP come from the wire."""
    old = ROUTED.switches[0]
    links = tuple(
        replace(link, lower=name if link.lower == old else link.lower, upper=name if link.upper == old else link.upper)
        for link in ROUTED.links
    )
    with pytest.raises(FabricError, match="cannot be the name of a switch"):
        replace(ROUTED, switches=(name, *ROUTED.switches[1:]), links=links)
