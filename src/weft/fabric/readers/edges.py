# SPDX-License-Identifier: BSD-3-Clause
"""A list of cables as CSV, for fabrics without a tool that dumps them: one cable per line, columns by name.

    a,a_port,b,b_port,rate
    leaf0,1,node0,1,4xQDR
    leaf0,7,spine0,1,4 GB/s

``rate`` is a width and speed, a rate with its unit, or empty. Ports may be omitted; they are then numbered in order.
Columns ``a_kind`` and ``b_kind`` say ``host`` or ``switch``; without them a box with one cable is a host.
"""

from collections import Counter

from weft.fabric.readers.dump import Box, BoxKind, Dump, End, Lines, rate_of
from weft.units import parse_rate

KINDS: dict[str, BoxKind] = {"host": "host", "switch": "switch"}
KNOWN = {"a", "b", "a_port", "b_port", "a_kind", "b_kind", "rate"}
MOST_PORTS = 65535
MOST_NAME = 200
EXPECTED = "a line of column names with a and b (and a_port, b_port, rate, a_kind, b_kind), then one cable a line"
Edge = tuple[int, dict[str, str]]


def is_edge_list(line: str) -> bool:
    """Whether a line is the header of such a list."""
    return {"a", "b"} <= {name.strip().lower() for name in line.split(",")} <= KNOWN


def read_edges(lines: Lines) -> Dump:
    """Boxes and cable ends of a CSV list of cables; FabricError names file, line and what was expected."""
    dump = Dump(lines.path, "edge list", both_ends=False)
    edges = _edges(lines)
    cables = Counter(name for _, row in edges for name in (row["a"], row["b"]))
    kinds = {row[side]: row[f"{side}_kind"] for _, row in edges for side in "ab" if row.get(f"{side}_kind")}
    used, free = set[tuple[str, int]](), dict[str, int]()
    for number, row in edges:
        ends: list[tuple[str, int]] = []
        for name, port in ((row[side], row.get(f"{side}_port", "")) for side in "ab"):
            kind = KINDS.get(kinds.get(name, "host" if cables[name] == 1 else "switch").lower())
            if kind is None:
                raise lines.fault(number, f"{kinds[name]!r} is no kind", "host or switch")
            if name not in dump.boxes:
                dump.add(Box(name, kind, line=number))
            ends.append((name, _port(lines, number, port, name, used, free)))
        speed = row.get("rate", "")
        dump.ends.append(End(*ends[0], *ends[1], speed, _rate(lines, number, speed), number))
    if not dump.boxes:
        raise lines.fault(len(lines.lines), "no cable up to the end", EXPECTED)
    return dump


def _edges(lines: Lines) -> list[Edge]:
    columns: list[str] | None = None
    edges: list[Edge] = []
    for number, text in lines.entries():
        values = [value.strip() for value in lines.row(number, text)]
        if columns is None:
            if not is_edge_list(text):
                raise lines.fault(number, "not the column names of a list of cables", EXPECTED)
            columns = [value.lower() for value in values]
            continue
        row = dict(zip(columns, values, strict=False))
        a, b = row.get("a", ""), row.get("b", "")
        if not a or not b or a == b or max(len(a), len(b)) > MOST_NAME:
            raise lines.fault(number, "not a cable", "two different names in the columns a and b")
        edges.append((number, row))
    return edges


def _port(lines: Lines, number: int, text: str, name: str, used: set[tuple[str, int]], free: dict[str, int]) -> int:
    if not text:
        port = free.get(name, 1)
        while (name, port) in used:
            port += 1
        free[name] = port + 1
    elif text.isascii() and text.isdigit() and len(text) < 6:
        port = int(text)
    else:
        port = 0
    if not 0 < port <= MOST_PORTS or (name, port) in used:
        raise lines.fault(number, f"port {text[:20] or port} of {name[:40]}", "a port from 1 that no other line names")
    used.add((name, port))
    return port


def _rate(lines: Lines, number: int, text: str) -> float:
    rate = rate_of(text)
    if rate == rate or not text:
        return rate
    try:
        return parse_rate(text)
    except ValueError as error:
        raise lines.fault(number, f"rate: {error}", "a width and speed (4xEDR) or a rate (12.5 GB/s)") from error
