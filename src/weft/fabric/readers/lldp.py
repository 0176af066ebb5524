# SPDX-License-Identifier: BSD-3-Clause
"""Neighbours by LLDP, for Ethernet fabrics: ``lldpcli show neighbors -f json`` (or json0) of nodes, and of switches.

One file holds the output of each system by its name, ``{"n1": {"lldp": ...}, "leaf0": {"lldp": ...}}``. Nodes know the
ports of their leaf switches; what is behind these is known where switches that run lldpd are in the file, too.

lldpd writes an object where a list has one entry, and a list of objects with one key where it has several; a chassis
without a name stands there without its key. json0 writes lists throughout, with names inside.
"""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from weft.errors import FabricError
from weft.fabric.nodeset import natural
from weft.fabric.readers.dump import Box, Dump, End, Lines
from weft.files.beneath import read_plain
from weft.files.reading import as_list, is_table

FIELDS = frozenset({"id", "descr", "mgmt-ip", "mgmt-iface", "capability", "ttl", "name"})
EXPECTED = "the output of lldpcli show neighbors -f json by the name of its system"
RATE = re.compile(r"(\d+)(?: ?G|(?=Base))", re.IGNORECASE)


class Seen(NamedTuple):
    """What a system reports of one of its interfaces."""

    interface: str
    peer: str
    port: str
    forwards: bool  # whether the peer says that it is a bridge or router, and no station
    rate: float  # bytes per second; nan where it is not known


def join_outputs(folder: Path) -> str:
    """One file of the outputs in a folder, ``NAME.json`` of each system; FabricError if there are none."""
    found: dict[str, Any] = {}
    for path in sorted(folder.glob("*.json"), key=lambda path: natural(path.name)):
        try:
            found[path.name.removesuffix(".json")] = json.loads(read_plain(path).decode("utf-8", "replace"))
        except (OSError, ValueError) as error:
            raise FabricError(f"{path}: {error}", EXPECTED) from None
    if not found:
        raise FabricError(f"{folder} holds no *.json", "n1.json of each node: lldpcli show neighbors -f json > n1.json")
    return json.dumps(found, indent=1)


def read_lldp(lines: Lines) -> Dump:
    """Boxes and cables that systems report of their neighbours; FabricError if the file has none."""
    try:
        seen = {_short(name): list(_seen(output)) for name, output in json.loads("\n".join(lines.lines)).items()}
    except (ValueError, AttributeError, TypeError, LookupError, RecursionError) as error:
        raise FabricError(f"{lines.path}: {error}", f"expected {EXPECTED}") from None
    switches = {each.peer for own in seen.values() for each in own if each.forwards or each.peer not in seen}
    dump = Dump(lines.path, "lldp", both_ends=False)
    cables = list(_cables(seen))
    if not cables:
        raise FabricError(f"{lines.path} names no neighbour", f"expected {EXPECTED}")
    ports: dict[str, set[str]] = {}
    for one, its, other, theirs, _ in cables:
        ports.setdefault(one, set()).add(its)
        ports.setdefault(other, set()).add(theirs)
    numbers = {name: _numbered(own) for name, own in ports.items()}
    for name in sorted(ports, key=natural):
        dump.add(Box(name, "switch" if name in switches else "host", line=1))
    for one, its, other, theirs, rate in cables:
        dump.ends.append(End(one, numbers[one][its], other, numbers[other][theirs], "", rate, 1))
    return dump


def _cables(seen: dict[str, list[Seen]]) -> Iterator[tuple[str, str, str, str, float]]:
    done: set[tuple[str, ...]] = set()
    for name, own in seen.items():
        for place, each in enumerate(own):
            port, rate = each.port, each.rate
            # where both report it, what a port calls itself counts, not the address that it sends
            if back := [found for found in seen.get(each.peer, ()) if found.peer == name]:
                same = sum(other.peer == each.peer for other in own[:place])
                named = [found for found in back if each.port == found.interface]
                match = [*named, *(found for found in back if found.port == each.interface), back[same % len(back)]][0]
                port, rate = match.interface, rate if rate == rate else match.rate
            ends = tuple(sorted([f"{name} {each.interface}", f"{each.peer} {port}"]))
            if ends not in done and name != each.peer:
                done.add(ends)
                yield name, each.interface, each.peer, port, rate


def _numbered(names: set[str]) -> dict[str, int]:
    """A port number for each name: the last number in it, ``swp49`` and ``Ethernet1/49``, or the place among all."""
    last = {name: int((re.findall(r"\d{1,5}", name) or ["0"])[-1]) for name in names}
    if len(set(last.values())) == len(last) and min(last.values()) > 0 and not any(":" in name for name in names):
        return last
    return {name: place for place, name in enumerate(sorted(names, key=natural), start=1)}


def _seen(output: Any) -> Iterator[Seen]:
    """The first neighbour of each interface: others are behind a bridge."""
    taken: set[str] = set()
    for interface, what in (each for lldp in as_list(output["lldp"]) for each in _named(lldp.get("interface", ()))):
        chassis, port = next(_named(what.get("chassis", ()), unnamed=True), None), as_list(what.get("port", ()))
        if chassis is None or not port or interface in taken:
            continue
        taken.add(interface)
        name, about = chassis
        on = {str(each.get("type")) for each in as_list(about.get("capability", ())) if each.get("enabled")}
        forwards = bool(on & {"Bridge", "Router"}) and "Station" not in on
        yield Seen(
            interface, _short(name) or _text(about.get("id")), _text(port[0].get("id")), forwards, _rate(port[0])
        )


def _short(name: str) -> str:
    return name.partition(".")[0]


def _rate(port: Any) -> float:
    """Bytes per second by auto-negotiation: ``100GbaseCR4``, ``25GigBaseCR``, ``1000BaseTFD``; nan if unknown."""
    modes = as_list(port.get("auto-negotiation", ()))
    found = RATE.match(_text(modes[0].get("current"))) if modes else None
    return int(found[1]) * (1e6 if found[0].isdigit() else 1e9) / 8 if found else float("nan")


def _named(value: Any, *, unnamed: bool = False) -> Iterator[tuple[str, Any]]:
    """Name and content of each entry, in any of the forms that lldpd writes."""
    for entry in as_list(value):
        if "name" in entry and not isinstance(entry["name"], dict):
            yield _text(entry["name"]), entry
        elif unnamed and set(entry) & FIELDS:
            yield "", entry
        else:
            yield from entry.items()


def _text(value: Any) -> str:
    """``x`` of "x", {"value": "x"} or [{"value": "x"}]; empty of nothing."""
    first = next(iter(as_list(value)), "")
    return str(first.get("value", "") if is_table(first) else first or "")
