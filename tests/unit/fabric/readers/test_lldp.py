# SPDX-License-Identifier: BSD-3-Clause
"""Neighbours by LLDP become a fabric with cables, in every form that lldpd writes."""

import json
from pathlib import Path
from typing import Any

import pytest

from weft.errors import FabricError
from weft.fabric.importing import import_dump
from weft.fabric.loads import name_cable
from weft.fabric.model import load_fabric
from weft.fabric.network.build import build_network
from weft.fabric.network.dumped import network_of
from weft.fabric.readers import Lines, detect
from weft.fabric.readers.lldp import read_lldp


def port(name: str, speed: str = "") -> dict[str, Any]:
    negotiated = {"auto-negotiation": {"supported": True, "enabled": True, "current": speed}} if speed else {}
    return {"id": {"type": "ifname", "value": name}, "descr": name, "ttl": "120", **negotiated}


def chassis(name: str, *on: str) -> dict[str, Any]:
    every = [{"type": each, "enabled": each in on} for each in ("Bridge", "Router", "Wlan", "Station")]
    about = {"id": {"type": "mac", "value": f"02:00:00:00:00:{len(name):02}"}, "descr": "x", "capability": every}
    return {name: about} if name else about


def heard(*rows: tuple[str, str, str, str]) -> dict[str, Any]:
    """What a system prints of (interface, peer, its port, speed); one entry is an object, several are a list."""
    entries = [
        {own: {"via": "LLDP", "rid": "1", "chassis": chassis(peer, "Bridge", "Router"), "port": port(its, speed)}}
        for own, peer, its, speed in rows
    ]
    return {"lldp": {"interface": entries[0] if len(entries) == 1 else entries}}


TWO_LEVELS = {
    **{f"n{i}": heard(("eth0", f"leaf{i // 2}.dc1.example", f"swp{1 + i % 2}", "100GbaseCR4 - x")) for i in range(4)},
    "leaf0": heard(("swp1", "n0", "02:aa", ""), ("swp2", "n1", "02:ab", ""), ("swp49", "spine0", "swp1", ""),
                   ("swp50", "spine1", "swp1", "")),
    "leaf1": heard(("swp1", "n2", "02:ac", ""), ("swp2", "n3", "02:ad", ""), ("swp49", "spine0", "swp2", ""),
                   ("swp50", "spine1", "swp2", "")),
}  # fmt: skip
for leaf in ("leaf0", "leaf1"):  # switches hear of hosts, which are stations
    for entry in TWO_LEVELS[leaf]["lldp"]["interface"][:2]:
        for what in entry.values():
            name = next(iter(what["chassis"]))
            what["chassis"] = chassis(name, "Bridge", "Station")


def test_nodes_and_switches_that_see_each_other_have_each_cable_once() -> None:
    network = network_of(read_lldp(Lines.of("all.json", json.dumps(TWO_LEVELS))), link_rate=1e9)
    assert network.hosts == ("n0", "n1", "n2", "n3")
    assert {switch.name for switch in network.switches} == {"leaf0", "leaf1", "spine0", "spine1"}
    names = {name_cable(network, cable) for cable in range(len(network.links) // 2)}
    assert {name for name in names if "spine" in name} == {
        f"leaf{i} - spine{j}" for i in range(2) for j in range(2)
    }  # fmt: skip
    assert len(names) == 8
    assert network.links.rate[0] == 12.5e9
    assert set(network.links.source_port.tolist()) <= {1, 2, 49, 50}


def test_nodes_alone_show_their_leaves() -> None:
    alone = {name: output for name, output in TWO_LEVELS.items() if name.startswith("n")}
    network = network_of(read_lldp(Lines.of("nodes.json", json.dumps(alone))))
    assert network.coordinates["leaf"].tolist() == [0, 0, 1, 1]
    assert len(network.links) // 2 == 4


def test_json0_says_the_same_as_json() -> None:
    """Of lldpcli -f json0: lists throughout, with names inside."""
    entries = [
        {"name": "ens1f0", "chassis": [{"name": [{"value": "leaf0"}], "id": [{"type": "mac", "value": "02:01"}],
         "capability": [{"type": "Bridge", "enabled": True}]}], "port": [{"id": [{"type": "ifname", "value": port}]}]}
        for port in ("Ethernet12", "Ethernet13")
    ]  # fmt: skip
    whole = {f"n{i}": {"lldp": [{"interface": [each]}]} for i, each in enumerate(entries)}
    dump = read_lldp(Lines.of("all.json", json.dumps(whole)))
    assert {(end.key, end.peer, end.peer_port) for end in dump.ends} == {("n0", "leaf0", 12), ("n1", "leaf0", 13)}
    assert dump.boxes["leaf0"].kind == "switch"


def test_a_switch_without_a_name_is_known_by_its_id() -> None:
    whole = {"n0": heard(("eth0", "", "1", "")), "n1": heard(("eth0", "", "2", ""))}
    assert {end.peer for end in read_lldp(Lines.of("all.json", json.dumps(whole))).ends} == {"02:00:00:00:00:00"}


def test_a_folder_of_outputs_is_imported_as_one_file(tmp_path: Path) -> None:
    (tmp_path / "outputs").mkdir()
    for name, output in TWO_LEVELS.items():
        (tmp_path / "outputs" / f"{name}.json").write_text(json.dumps(output, indent=2))
    import_dump(tmp_path / "outputs", tmp_path / "mine.toml")
    assert detect(Lines.read(tmp_path / "mine.lldp.json")) == "lldp"
    network = build_network(load_fabric(tmp_path / "mine.toml"))
    assert network.hosts == ("n0", "n1", "n2", "n3")
    assert len(network.switches) == 4


@pytest.mark.parametrize("text", ["", "{}", "[1]", '{"n0": 5}', '{"n0": {"lldp": {"interface": 7}}}', '{"n0": {}}'])
def test_what_is_no_output_of_lldp_is_refused(text: str) -> None:
    with pytest.raises(FabricError):
        read_lldp(Lines.of("all.json", text))
