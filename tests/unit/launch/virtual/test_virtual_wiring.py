# SPDX-License-Identifier: BSD-3-Clause
"""A specification as commands: every end of every link is limited, and no name can become a command."""

import json
import re
from dataclasses import replace
from pathlib import Path

import pytest

from weft.fabric import kinds
from weft.launch.virtual import wiring
from weft.launch.virtual.spec import VirtualLink, VirtualSpec

SPEC = VirtualSpec(
    "tree",
    ("n1", "n2", "n10"),
    ("leaf", "top"),
    (
        VirtualLink("n1-leaf", "n1", "leaf", 62.5e6),
        VirtualLink("n2-leaf", "n2", "leaf", 62.5e6),
        VirtualLink("n10-top", "n10", "top", 1e6),
        VirtualLink("leaf-top", "leaf", "top", 1e9),
    ),
)


def test_each_direction_of_each_link_has_one_port_that_sends_it() -> None:
    ports = wiring.ports(SPEC)
    assert len(ports) == 8
    assert len({(port.host, port.interface) for port in ports}) == 8
    assert {(port.link, port.sender) for port in ports} == {
        (link.name, end) for link in SPEC.links for end in (link.lower, link.upper)
    }
    assert [port.host for port in ports if port.interface == "eth0"] == ["n1", "n2", "n10"]


def test_every_port_is_shaped_at_the_rate_of_its_link() -> None:
    lines = wiring.switch_shaping(SPEC).splitlines()
    for host in SPEC.hosts:
        lines += [line.removeprefix("tc ") for line in wiring.host_script(SPEC, host).splitlines() if "tbf" in line]
    rates = sorted(int(re.search(r"rate (\d+)bit", line)[1]) for line in lines)  # type: ignore[index]
    assert rates == sorted(round(8 * port.rate) for port in wiring.ports(SPEC))


def test_the_bucket_holds_a_frame_at_the_slowest_and_stays_small_at_the_fastest() -> None:
    assert kinds.burst(1e3) == 2 * (kinds.MTU + 14)
    assert kinds.burst(62.5e6) == 31250
    assert kinds.burst(1e12) == 1 << 18


def test_interface_names_fit_the_kernel_however_long_the_fabric_names_are() -> None:
    long = VirtualSpec("f", ("h" * 60,), ("s" * 80,), (VirtualLink("l" * 140, "h" * 60, "s" * 80, 1e7),))
    words = re.findall(r"name (\S+)", wiring.switch_batch(long))
    assert words
    assert all(len(word) <= 15 for word in words)


def test_the_peer_of_a_host_is_made_in_that_hosts_namespace_and_no_others() -> None:
    batch = wiring.switch_batch(SPEC)
    for host in SPEC.hosts:
        assert batch.count(f"{{pid:{host}}}") == 1
    # a replacement of n1 must not hit n10
    assert "{pid:n10}" in batch.replace("{pid:n1}", "7")


def test_every_host_knows_every_other_by_a_different_address() -> None:
    lines = [line.split() for line in wiring.hosts_file(SPEC).splitlines()[1:]]
    assert [name for _, name in lines] == list(SPEC.hosts)
    assert len({address for address, _ in lines}) == len(SPEC.hosts)


def test_250_hosts_have_valid_addresses() -> None:
    hosts = tuple(f"h{k}" for k in range(250))
    many = VirtualSpec("f", hosts, ("s",), tuple(VirtualLink(f"{h}-s", h, "s", 1e6) for h in hosts))
    assert wiring.address(many, "h249") == "10.77.0.250"


def test_orders_are_one_line_of_json() -> None:
    text = json.dumps(wiring.orders(SPEC, "agent\ntext"))
    assert "\n" not in text
    assert set(json.loads(text)["hosts"]) == set(SPEC.hosts)


ROUTED = VirtualSpec(
    "routed",
    ("a", "b"),
    ("s", "t"),
    (VirtualLink("a-s", "a", "s", 1e7), VirtualLink("b-t", "b", "t", 1e7), VirtualLink("s1-t", "s", "t", 1e7),
     VirtualLink("s2-t", "s", "t", 1e7)),
    (((0,), (2, 3)), ((2,), (1,))),
    2**32 - 1,
)  # fmt: skip


def test_each_end_of_a_cable_between_routers_has_the_namespace_of_its_switch() -> None:
    where = {(port.link, port.sender): (port.host, port.interface) for port in wiring.ports(ROUTED)}
    assert where["s1-t", "s"] == ("s", "l2a")
    assert where["s1-t", "t"] == ("t", "l2b")
    assert where["a-s", "s"] == ("s", "l0b")
    assert where["a-s", "a"] == ("a", "eth0")
    assert "type bridge" not in wiring.switch_batch(ROUTED)
    assert wiring.switch_shaping(ROUTED) == ""


def test_a_router_has_a_route_for_each_host_a_hash_where_ways_differ_and_a_seed_of_its_own() -> None:
    first, second = (wiring.router_script(ROUTED, name) for name in ("s", "t"))
    assert "route add 10.77.0.1/32 dev l0b\n" in first
    assert "route add 10.77.0.2/32 nexthop via 10.77.1.2 dev l2a onlink nexthop via 10.77.1.2 dev l3a onlink\n" in first
    assert "route add 10.77.0.1/32 via 10.77.1.1 dev l2b onlink\n" in second
    assert f"echo {2**32 - 1} > /proc/sys/net/ipv4/fib_multipath_hash_seed" in first
    assert "echo 1 > /proc/sys/net/ipv4/fib_multipath_hash_seed" in second  # never 0, which draws one
    assert "fib_multipath_hash_seed" not in wiring.router_script(replace(ROUTED, hash_seed=0), "s")
    assert first.count(" root tbf ") == 3
    assert "via 10.77.1.2 dev eth0 onlink" in wiring.host_script(ROUTED, "b")


def test_orders_of_routers_name_whose_counters_to_keep_open() -> None:
    orders = json.loads(json.dumps(wiring.orders(ROUTED, "agent")))
    assert set(orders["hosts"]) == {"a", "b", "s", "t"}
    assert orders["counted"] == ["s", "t"]
    assert json.loads(json.dumps(wiring.orders(SPEC, "agent")))["counted"] == []


@pytest.mark.parametrize("file", ["holder.py"])
def test_the_holder_needs_nothing_but_the_standard_library(file: str) -> None:
    text = (Path(wiring.__file__).parent / file).read_text()
    imported = set(re.findall(r"^(?:from|import) (\w+)", text, re.MULTILINE))
    assert "weft" not in imported
    assert imported <= {"json", "os", "shutil", "signal", "subprocess", "sys", "pathlib", "typing"}
