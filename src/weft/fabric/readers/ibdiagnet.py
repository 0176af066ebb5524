# SPDX-License-Identifier: BSD-3-Clause
"""``ibdiagnet2.db_csv`` and ``opensm-subnet.lst``: one line for each box, port and link.

ibdiagnet writes sections of comma-separated rows, each with a line of column names. Columns are found by name, since
they differ between versions; unknown sections are skipped. Counters of data are in units of four bytes.

    START_NODES      NodeDesc,NumPorts,NodeType,...,NodeGUID,...     NodeType 1 adapter, 2 switch, 3 router
    START_PORTS      NodeGuid,PortGuid,PortNum,...,LID,...,LinkWidthActv,...,LinkSpeedActv,...,PortState,...
    START_LINKS      NodeGuid1,PortNum1,NodeGuid2,PortNum2
    START_PM_INFO    NodeGUID,PortGUID,PortNumber,...,PortXmitDataExtended,...,PortXmitWait,...

OpenSM writes a line for each end of a link, LIDs hexadecimal, ``SPD`` the signalling rate of a lane in Gbit/s.

    { CA Ports:01 SystemGUID:.. NodeGUID:.. PortGUID:.. VenID:.. DevID:.. Rev:.. {node0} LID:0001 PN:01 } { SW ... }
    (the same line:) PHY=4x LOG=ACT SPD=2.5
"""

import re
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace

from weft.fabric.readers.dump import Box, BoxKind, Dump, End, Lines, kind_of_adapter, rate_of

KINDS: dict[int, BoxKind] = {1: "host", 2: "switch", 3: "router"}
LETTERS = {"host": "H", "aggregation": "H", "switch": "S", "router": "R"}
#: By the codes of LinkSpeedActive and LinkWidthActive (InfiniBand specification, PortInfo), as ibdiagnet2 joins them.
ACTIVE_SPEEDS = {
    1: "SDR", 2: "DDR", 4: "QDR", 0x10000: "FDR10", 0x100: "FDR", 0x200: "EDR",
    0x400: "HDR", 0x800: "NDR", 0x1000: "XDR",
}  # fmt: skip
ACTIVE_WIDTHS = {1: "1x", 2: "4x", 4: "8x", 8: "12x", 16: "2x"}
SENT = ("portxmitdataextended", "portxmitdataext", "portxmitdata")
WAITED = ("portxmitwaitext", "portxmitwait")
ACTIVE, TRAINED = 4, (2, 3)  # PortState: active; initialised and armed, which carry no traffic
WORD_BYTES = 4
Row = dict[str, str]
Speeds = dict[tuple[str, int], str]  # width and speed by key and port


def read_ibdiagnet(lines: Lines) -> Dump:
    """Boxes, cable ends and port counters of an ``ibdiagnet2.db_csv``; FabricError names file and line."""
    dump = Dump(lines.path, "ibdiagnet2 db_csv")
    keys: dict[int, str] = {}
    for number, row in _rows(lines, "NODES"):
        _node(dump, lines, number, row, keys)
    if not keys:
        raise lines.fault(len(lines.lines), "no section of nodes up to the end", "START_NODES and rows below it")
    speeds: Speeds = {}
    for number, row in _rows(lines, "PORTS"):
        _port(dump, lines, number, row, keys, speeds)
    for number, row in _rows(lines, "LINKS"):
        _link(dump, lines, number, row, keys, speeds)
    for number, row in _rows(lines, "PM_INFO"):
        if (key := keys.get(_value(lines, number, row, "nodeguid"))) is not None:
            port = _value(lines, number, row, "portnumber", "portnum")
            sent, waited = (_value(lines, number, row, *names, default=0) for names in (SENT, WAITED))
            dump.counters[key, port] = (waited, WORD_BYTES * sent)
    return dump


def _rows(lines: Lines, section: str) -> Iterator[tuple[int, Row]]:
    columns: list[str] | None = None
    inside = False
    for number, text in lines.entries():
        if text == f"START_{section}":
            inside, columns = True, None
        elif text == f"END_{section}":
            inside = False
        elif inside and columns is None:
            columns = [name.strip().lower() for name in lines.row(number, text)]
        elif inside and columns:
            yield number, dict(zip(columns, lines.row(number, text), strict=False))


def _value(lines: Lines, number: int, row: Row, *names: str, default: int | None = None) -> int:
    for name in names:
        text = row.get(name, "").strip()
        if text in ("", "N/A", "NA"):
            continue
        with suppress(ValueError):
            value = int(text, 16) if text[:2].lower() == "0x" else int(text)
            if 0 <= value < 1 << 64:
                return value
        break
    if default is not None:
        return default
    raise lines.fault(number, f"no number for {names[0]}", f"a column {' or '.join(names)}")


def _node(dump: Dump, lines: Lines, number: int, row: Row, keys: dict[int, str]) -> None:
    guid = _value(lines, number, row, "nodeguid")
    label = row.get("nodedesc", "").strip()
    kind = KINDS.get(_value(lines, number, row, "nodetype"))
    if kind is None:
        raise lines.fault(number, "an unknown NodeType", "1 (adapter), 2 (switch) or 3 (router)")
    if kind == "host":
        kind = kind_of_adapter(label)
    keys[guid] = f"{LETTERS[kind]}-{guid:016x}"
    dump.add(Box(keys[guid], kind, _value(lines, number, row, "numports", default=0), label, (), number))


def _port(dump: Dump, lines: Lines, number: int, row: Row, keys: dict[int, str], speeds: Speeds) -> None:
    key, port = keys.get(_value(lines, number, row, "nodeguid")), _value(lines, number, row, "portnum")
    if key is None:
        return
    lid = _value(lines, number, row, "lid", default=0)
    box = dump.boxes[key]
    at_switch_port = box.kind == "switch" and port != 0  # a switch has one LID, at port 0; older versions repeat it
    if lid and not at_switch_port and lid not in box.lids:
        dump.boxes[key] = replace(box, lids=(*box.lids, lid))
        dump.port_lids[key, port] = lid
    if lmc := _value(lines, number, row, "lmc", default=0):
        dump.lmc[key] = lmc
    state = _value(lines, number, row, "portstate", default=ACTIVE)
    if port and state in TRAINED:  # a port that is down has no cable; most dumps have hundreds of them
        dump.down.append((number, f"{key} port {port}: state {state}"))
    width = ACTIVE_WIDTHS.get(_value(lines, number, row, "linkwidthactv", default=0))
    speed = ACTIVE_SPEEDS.get(_value(lines, number, row, "linkspeedactv", default=0))
    if width and speed:
        speeds[key, port] = width + speed


def _link(dump: Dump, lines: Lines, number: int, row: Row, keys: dict[int, str], speeds: Speeds) -> None:
    guids = [_value(lines, number, row, f"nodeguid{side}") for side in (1, 2)]
    ports = [_value(lines, number, row, f"portnum{side}") for side in (1, 2)]
    names = [keys.get(guid, f"?-{guid:016x}") for guid in guids]
    for here, there in ((0, 1), (1, 0)):
        if names[here] in dump.boxes:
            speed = speeds.get((names[here], ports[here]), "")
            dump.ends.append(End(names[here], ports[here], names[there], ports[there], speed, rate_of(speed), number))


SIDE = (
    r"\{ (CA|SW|RT|CA-SM|SW-SM|RT-SM) Ports:([0-9A-Fa-f]{2}) SystemGUID:[0-9A-Fa-f]+ NodeGUID:([0-9A-Fa-f]{1,16}) "
    r"PortGUID:([0-9A-Fa-f]{1,16}) VenID:[0-9A-Fa-f]+ DevID:[0-9A-Fa-f]+ Rev:[0-9A-Fa-f]+ \{(.*?)\} "
    r"LID:([0-9A-Fa-f]{1,4}) PN:([0-9A-Fa-f]{2}) \}"
)
LINE = re.compile(SIDE + r" " + SIDE + r" PHY=(\S+) LOG=(\S+) SPD=(\S+)", re.ASCII)
#: By the signalling rate of a lane as OpenSM prints it.
SIGNALLED = {"2.5": "SDR", "5": "DDR", "10": "QDR", "14": "FDR", "25": "EDR", "50": "HDR", "100": "NDR", "200": "XDR"}
EXPECTED = "{ CA|SW Ports:.. NodeGUID:.. {name} LID:.. PN:.. } { ... } PHY=4x LOG=ACT SPD=10"


def read_subnet_list(lines: Lines) -> Dump:
    """Boxes and cable ends of an ``opensm-subnet.lst``; links not active are down. FabricError names file and line."""
    dump = Dump(lines.path, "opensm-subnet.lst")
    for number, line in lines.entries():
        found = LINE.fullmatch(line)
        if not found:
            raise lines.fault(number, "not a link", EXPECTED)
        sides: list[tuple[str, int]] = []
        for letters, ports, guid, port_guid, label, lid, port in (found.groups()[:7], found.groups()[7:14]):
            key = dump.see(letters.removesuffix("-SM"), guid, int(lid, 16), label, number, int(ports, 16))
            sides.append((key, int(port, 16)))
            dump.port_lids[sides[-1]] = int(lid, 16)
            if letters.startswith("CA"):
                dump.port_guids[sides[-1]] = int(port_guid, 16)
        speed = found[15] + SIGNALLED.get(found[17], found[17])
        if found[16] == "ACT":
            dump.ends.append(End(*sides[0], *sides[1], speed, rate_of(speed), number))
        else:
            dump.down.append((number, f"{sides[0][0]} port {sides[0][1]}: {found[16]}"))
    if not dump.boxes:
        raise lines.fault(len(lines.lines), "no link up to the end", EXPECTED)
    return dump
