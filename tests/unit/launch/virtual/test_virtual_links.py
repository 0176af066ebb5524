# SPDX-License-Identifier: BSD-3-Clause
"""Counters of links: read from tc or perfquery, subtracted, and kept."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from weft.errors import DataError, LaunchError
from weft.launch.batch.launcher import parse_perfquery, port_counts
from weft.launch.virtual.counters import link_counts
from weft.launch.virtual.wiring import Port
from weft.store.links import LinkCount, links_file, passed, read_links, write_links

COUNT = LinkCount("a-s", "a", "s", 1e7, bytes=1000, packets=10, drops=1)
PORTS = (Port("a-s", "a", "s", 1e7, "a", "eth0"), Port("a-s", "s", "a", 1e7, "", "l0b"))

# what `tc -s -j qdisc show` of iproute2 6.1 prints for a holder with one shaped port
HOLDER = (
    '[{"kind":"noqueue","handle":"0:","dev":"lo","root":true,"refcnt":2,"options":{},"bytes":0,"packets":0,"drops":0,'
    '"overlimits":0,"requeues":0,"backlog":0,"qlen":0},{"kind":"tbf","handle":"8001:","dev":"l0b","root":true,"refcnt":3,'
    '"options":{"rate":62500000,"burst":31187,"lat":200000},"bytes":48200123,"packets":5400,"drops":7,"overlimits":12,'
    '"requeues":0,"backlog":0,"qlen":0}]\n'
)
HOST = HOLDER.replace("l0b", "eth0").replace("48200123", "5")

# from the manual of infiniband-diags 2.x: a port that carried 4 x 1e9 bytes out and 4 x 5 bytes in
EXTENDED = """# Port extended counters: Lid 1 port 1 (CapMask: 0x5300 CapMask2: 0x0000000)
PortSelect:......................1
CounterSelect:...................0x0000
PortXmitData:....................1000000000
PortRcvData:.....................5
PortXmitPkts:....................12345678
PortRcvPkts:.....................3
PortUnicastXmitPkts:.............12345678
"""
PLAIN = """# Port counters: Lid 1 port 1 (CapMask: 0x5300)
PortSelect:......................1
PortRcvErrors:...................2
PortXmitDiscards:................4
PortXmitData:....................4294967295
PortRcvData:.....................5
PortXmitPkts:....................4294967295
PortRcvPkts:.....................3
"""


def test_what_crossed_is_the_difference_of_two_readings() -> None:
    after = replace(COUNT, bytes=1500, packets=12, drops=1)
    assert passed([COUNT], [after]) == [replace(COUNT, bytes=500, packets=2, drops=0)]


def test_the_two_directions_of_a_link_are_kept_apart() -> None:
    back = replace(COUNT, source="s", target="a", bytes=7, packets=7, drops=7)
    crossed = passed([back, COUNT], [replace(COUNT, bytes=1001), replace(back, bytes=9)])
    assert [(count.source, count.bytes) for count in crossed] == [("a", 1), ("s", 2)]


@pytest.mark.parametrize("field", ["bytes", "packets", "drops"])
def test_a_counter_that_went_backwards_is_no_measurement(field: str) -> None:
    with pytest.raises(DataError, match="link a-s from a went backwards"):
        passed([COUNT], [replace(COUNT, **{field: 0})])


def test_a_link_that_was_not_there_before_is_no_measurement() -> None:
    with pytest.raises(DataError, match="went backwards"):
        passed([], [COUNT])


def test_counters_are_kept_beside_the_launch_and_read_again(tmp_path: Path) -> None:
    path = links_file(tmp_path, "c003.l1")
    assert path == tmp_path / "launches" / "c003.l1.links.json"
    path.parent.mkdir()
    write_links(path, "c003.l1", "tbf", [COUNT])
    assert read_links(path) == [COUNT]
    record = json.loads(path.read_text())
    assert record["schema"] == "weft-links/1"
    assert record["links"] == [
        {"link": "a-s", "from": "a", "to": "s", "rate": 1e7, "bytes": 1000, "packets": 10, "drops": 1}
    ]


@pytest.mark.parametrize(
    "text", ["{", "[]", "{}", '{"schema": "weft-links/2"}', '{"schema": "weft-links/1", "links": [{}]}']
)
def test_a_torn_or_foreign_file_of_counters_is_one_message(text: str, tmp_path: Path) -> None:
    path = tmp_path / "x.links.json"
    path.write_text(text)
    with pytest.raises(DataError):
        read_links(path)


def test_each_direction_is_read_at_the_end_that_sends_it() -> None:
    counts = link_counts(PORTS, ("a",), HOLDER + HOST)
    assert counts == [
        LinkCount("a-s", "a", "s", 1e7, 5, 5400, 7),
        LinkCount("a-s", "s", "a", 1e7, 48200123, 5400, 7),
    ]


def test_a_link_that_lost_its_limit_is_not_measured_in_silence() -> None:
    unshaped = HOST.replace('"kind":"tbf"', '"kind":"noqueue"')
    with pytest.raises(LaunchError, match="a-s has lost its limit from a to s"):
        link_counts(PORTS, ("a",), HOLDER + unshaped)


def test_output_that_is_no_json_names_the_version_that_is_needed() -> None:
    with pytest.raises(LaunchError, match="iproute2 5"):
        link_counts(PORTS, ("a",), "qdisc tbf 8001: dev eth0 root")


def test_infiniband_counts_words_of_four_bytes() -> None:
    out, back = port_counts("n1", parse_perfquery(PLAIN + EXTENDED), rate=4e9)
    assert out == LinkCount("n1-fabric", "n1", "fabric", 4e9, 4_000_000_000, 12345678, 4)
    assert back == LinkCount("n1-fabric", "fabric", "n1", 4e9, 20, 3, 2)


def test_perfquery_without_counters_is_one_message() -> None:
    with pytest.raises(DataError, match="no PortXmitData"):
        parse_perfquery("ibwarn: [1] mad_rpc_open_port: can't open UMAD port")
