# SPDX-License-Identifier: BSD-3-Clause
"""A specification as commands: every end of every link is limited, and no name can become a command."""

import json
import re
from pathlib import Path

import pytest

from weft.fabric import shaping
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
    assert shaping.burst(1e3) == 2 * shaping.FRAME
    assert shaping.burst(62.5e6) == 31250
    assert shaping.burst(1e12) == 1 << 18


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


@pytest.mark.parametrize("file", ["holder.py"])
def test_the_holder_needs_nothing_but_the_standard_library(file: str) -> None:
    text = (Path(wiring.__file__).parent / file).read_text()
    imported = set(re.findall(r"^(?:from|import) (\w+)", text, re.MULTILINE))
    assert "weft" not in imported
    assert imported <= {"json", "os", "shutil", "signal", "subprocess", "sys", "pathlib", "typing"}
