# SPDX-License-Identifier: BSD-3-Clause
"""``ibdiagnet2.db_csv``: sections of comma-separated rows, each with a line of column names.

    START_NODES      NodeDesc,NumPorts,NodeType,...,NodeGUID,...     NodeType 1 adapter, 2 switch, 3 router
    START_PORTS      NodeGuid,PortGuid,PortNum,...,LID,...,LinkWidthActv,...,LinkSpeedActv,...,PortState,...
    START_LINKS      NodeGuid1,PortNum1,NodeGuid2,PortNum2
    START_PM_INFO    NodeGUID,PortGUID,PortNumber,...,PortXmitDataExtended,...,PortXmitWait,...

Columns are found by name, since they differ between versions; unknown sections are skipped. Counters of data are in
units of four bytes.
"""

import csv
from collections.abc import Iterator
from dataclasses import replace

from weft.fabric.readers.dump import (
    ACTIVE_SPEEDS,
    ACTIVE_WIDTHS,
    Box,
    BoxKind,
    Counters,
    Dump,
    End,
    Lines,
    kind_of_adapter,
    rate_of,
)

KINDS: dict[int, BoxKind] = {1: "host", 2: "switch", 3: "router"}
LETTERS = {"host": "H", "aggregation": "H", "switch": "S", "router": "R"}
SENT = ("portxmitdataextended", "portxmitdataext", "portxmitdata")
WAITED = ("portxmitwaitext", "portxmitwait")
ACTIVE, TRAINED = 4, (2, 3)  # PortState: active; initialised and armed, which carry no traffic
WORD_BYTES = 4
Row = dict[str, str]


def read_ibdiagnet(lines: Lines) -> Dump:
    """Boxes, cable ends and port counters of an ``ibdiagnet2.db_csv``; FabricError names file and line."""
    dump = Dump(lines.path, "ibdiagnet2 db_csv")
    keys: dict[int, str] = {}
    for number, row in _rows(lines, "NODES"):
        _node(dump, lines, number, row, keys)
    if not keys:
        raise lines.fault(len(lines.lines), "no section of nodes up to the end", "START_NODES and rows below it")
    speeds: dict[tuple[str, int], str] = {}
    for number, row in _rows(lines, "PORTS"):
        _port(dump, lines, number, row, keys, speeds)
    for number, row in _rows(lines, "LINKS"):
        _link(dump, lines, number, row, keys, speeds)
    for number, row in _rows(lines, "PM_INFO"):
        key = keys.get(_value(lines, number, row, "nodeguid"))
        if key is not None:
            port = _value(lines, number, row, "portnumber", "portnum")
            dump.counters[key, port] = Counters(
                WORD_BYTES * _value(lines, number, row, *SENT, default=0),
                _value(lines, number, row, *WAITED, default=0),
            )
    return dump


def _rows(lines: Lines, section: str) -> Iterator[tuple[int, Row]]:
    columns: list[str] | None = None
    inside = False
    for number, raw in lines.numbered():
        text = raw.strip()
        if text == f"START_{section}":
            inside, columns = True, None
        elif text == f"END_{section}":
            inside = False
        elif inside and text and not text.startswith("#"):
            try:
                values = next(csv.reader([text]))
            except (csv.Error, StopIteration) as error:
                raise lines.fault(number, f"no row ({error})", "values between commas") from error
            if columns is None:
                columns = [name.strip().lower() for name in values]
            else:
                yield number, dict(zip(columns, values, strict=False))


def _value(lines: Lines, number: int, row: Row, *names: str, default: int | None = None) -> int:
    for name in names:
        text = row.get(name, "").strip()
        if text in ("", "N/A", "NA"):
            continue
        try:
            value = int(text, 16) if text[:2].lower() == "0x" else int(text)
        except ValueError:
            break
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


def _port(
    dump: Dump, lines: Lines, number: int, row: Row, keys: dict[int, str], speeds: dict[tuple[str, int], str]
) -> None:
    key, port = keys.get(_value(lines, number, row, "nodeguid")), _value(lines, number, row, "portnum")
    if key is None:
        return
    lid = _value(lines, number, row, "lid", default=0)
    box = dump.boxes[key]
    at_switch_port = box.kind == "switch" and port != 0  # a switch has one LID, at port 0; older versions repeat it
    if lid and not at_switch_port and lid not in box.lids:
        dump.boxes[key] = replace(box, lids=(*box.lids, lid))
        dump.port_lids[key, port] = lid
    if _value(lines, number, row, "lmc", default=0):
        dump.lmc[key] = _value(lines, number, row, "lmc", default=0)
    state = _value(lines, number, row, "portstate", default=ACTIVE)
    if port and state in TRAINED:  # a port that is down has no cable; most dumps have hundreds of them
        dump.down.append((number, f"{key} port {port}: state {state}"))
    width = ACTIVE_WIDTHS.get(_value(lines, number, row, "linkwidthactv", default=0))
    speed = ACTIVE_SPEEDS.get(_value(lines, number, row, "linkspeedactv", default=0))
    if width and speed:
        speeds[key, port] = width + speed


def _link(
    dump: Dump, lines: Lines, number: int, row: Row, keys: dict[int, str], speeds: dict[tuple[str, int], str]
) -> None:
    guids = [_value(lines, number, row, f"nodeguid{side}") for side in (1, 2)]
    ports = [_value(lines, number, row, f"portnum{side}") for side in (1, 2)]
    names = [keys.get(guid, f"?-{guid:016x}") for guid in guids]
    for here, there in ((0, 1), (1, 0)):
        if names[here] not in dump.boxes:
            continue
        speed = speeds.get((names[here], ports[here]), "")
        dump.ends.append(End(names[here], ports[here], names[there], ports[there], speed, rate_of(speed), number))
