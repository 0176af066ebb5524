# SPDX-License-Identifier: BSD-3-Clause
"""Slurm's ``topology.conf`` and the output of ``scontrol show topology``.

    SwitchName=leaf0 Nodes=n[1-18]                            # topology.conf
    SwitchName=spine Switches=leaf[0-3] LinkSpeed=400
    SwitchName=leaf0 Level=0 LinkSpeed=1 Nodes=n[1-18]        # scontrol, which repeats the nodes below at every level
    SwitchName=spine Level=1 LinkSpeed=1 Nodes=n[1-72] Switches=leaf[0-3]

The file states which switch is below which, but neither the number of cables nor their rates: hop classes follow from
it, loads do not.
"""

import re
from collections.abc import Callable
from itertools import chain
from typing import TypeVar

from weft.fabric.nodeset import expand, size
from weft.fabric.readers.dump import Box, Dump, End, Lines

PAIR = re.compile(r"([A-Za-z]+)\s*=\s*(\S*)", re.ASCII)
KNOWN = {"switchname", "nodes", "switches", "level", "linkspeed"}
EMPTY = {"", "(null)", "null", "none"}
MOST_CHILDREN = 1_000_000
Read = TypeVar("Read")


def read_slurm(lines: Lines) -> Dump:
    """Switches, nodes and the connections between them; FabricError names file and line."""
    reported = any(re.search(r"\bLevel=\d", line) for line in lines.lines)
    form = "scontrol show topology" if reported else "topology.conf"
    dump = Dump(lines.path, form, both_ends=False, cables_known=False)
    joined, ports, named = set[frozenset[str]](), dict[str, int](), 0
    for number, text in _records(lines):
        name, nodes, switches = _record(lines, number, text)
        dump.add(Box(name, "switch", line=number))
        # scontrol repeats the nodes of lower switches at each switch
        parts = (switches,) if reported and switches else (switches, nodes)
        named += sum(_read(lines, number, size, part) for part in parts)
        if named > MOST_CHILDREN:
            raise lines.fault(number, f"more than {MOST_CHILDREN:,} connections", "the topology of one cluster")
        below = [_read(lines, number, expand, part) if part else () for part in parts]
        hosts = set(below[1]) if len(below) == 2 else set[str]()
        for child in chain(*below):
            if frozenset((name, child)) in joined or child == name:
                continue
            joined.add(frozenset((name, child)))
            ports[name], ports[child] = ports.get(name, 0) + 1, ports.get(child, 0) + 1
            dump.ends.append(End(name, ports[name], child, ports[child], line=number))
            if child in hosts:
                _node(dump, lines, number, child)
    if not dump.boxes:
        raise lines.fault(len(lines.lines), "no switch up to the end", "lines such as SwitchName=leaf0 Nodes=n[1-18]")
    for end in dump.ends:
        if end.peer not in dump.boxes:
            raise lines.fault(end.line, f"the switch {end.peer} has no line of its own", f"SwitchName={end.peer} ...")
    return dump


def _records(lines: Lines) -> list[tuple[int, str]]:
    """Logical lines without comments; a line that ends in a backslash is joined with the next."""
    records: list[tuple[int, str]] = []
    start, text = 0, ""
    for number, raw in enumerate(lines.lines, start=1):
        line = raw.split("#", 1)[0].rstrip()
        start = start or number
        text += line.removesuffix("\\") + " "
        if not line.endswith("\\") or number == len(lines.lines):
            records.append((start, text.strip()))
            start, text = 0, ""
    return [record for record in records if record[1]]


def _record(lines: Lines, number: int, text: str) -> tuple[str, str, str]:
    values = {key.lower(): value for key, value in PAIR.findall(text)}
    if "blockname" in values or "blocksizes" in values:
        raise lines.fault(number, "a block topology", "topology/tree: it alone says which switch hangs below which")
    if PAIR.sub("", text).strip() or not values.keys() <= KNOWN or values.get("switchname", "") in EMPTY:
        raise lines.fault(number, "not a switch", "SwitchName=<name> with Nodes=<nodes> or Switches=<names>")
    given = (values.get(key, "") for key in ("nodes", "switches"))
    nodes, switches = ("" if names.lower() in EMPTY else names for names in given)
    if not nodes and not switches:
        raise lines.fault(number, "a switch with nothing below it", "Nodes= or Switches= with names")
    return values["switchname"], nodes, switches


def _read(lines: Lines, number: int, read: Callable[[str], Read], text: str) -> Read:
    try:
        return read(text)
    except ValueError as error:
        what = f"{text[:60]} is not a list of names ({error})"
        raise lines.fault(number, what, "names and ranges such as n[1-18],m3") from error


def _node(dump: Dump, lines: Lines, number: int, name: str) -> None:
    known = dump.boxes.get(name)
    if known is None:
        dump.add(Box(name, "host", 1, line=number))
    elif known.kind == "switch":
        what = f"{name} is a switch in line {known.line} and a node here"
        raise lines.fault(number, what, "names for one thing each")
