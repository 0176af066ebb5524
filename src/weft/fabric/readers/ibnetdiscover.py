# SPDX-License-Identifier: BSD-3-Clause
"""``ibnetdiscover`` (plain and ``--full``) and the ``.net`` files of ibsim, which are a subset of that format.

Each block describes a box: a header line, then a line for each port with a cable.

    Switch  36 "S-0008f10500200b50"   # "Voltaire 4036" enhanced port 0 lid 9 lmc 0
    [1]     "S-0008f10500108c5c"[15]  # "Voltaire 4036" lid 16 4xQDR
    Ca      1 "H-0002c90300080e84"    # "MT25408 ConnectX"
    [1](2c90300080e85)  "S-0008f10500108bba"[27]  # lid 17 lmc 0 "Voltaire 4036" lid 7 4xQDR

``--full`` adds ``s=4 w=2 v=4`` after the speed. Progress (``-s``, ``-v``) and warnings may stand between lines. ibsim
writes ``Hca`` for ``Ca``, any name for an id, and no comments.

``ibnetdiscover -p``: one line per port, with the far end of its cable if there is one.

    SW     3  8 0x0000000000200001 4x SDR - SW     4  4 0x0000000000200002 ( 'leaf1' - 'spine0' )
    SW     3  6 0x0000000000200001 4x SDR                                    'leaf1'

The GUID is that of the port: for a switch the node's GUID, for an adapter a different one for each port. Two ports of
one adapter are therefore two hosts here; the plain format keeps them together.
"""

import re
from dataclasses import replace

from weft.fabric.readers.dump import Box, BoxKind, Dump, End, Lines, kind_of_adapter, rate_of

SIDE = r"(SW|CA|RT)\s+(\d{1,9})\s+(\d{1,5})\s+0x([0-9a-fA-F]{1,16})"
LINE = re.compile(SIDE + r"\s+(\S+)\s+(\S+)(?:\s+-\s+" + SIDE + r"\s+\(\s*'(.*)' - '(.*)'\s*\)|\s+'(.*)')\s*", re.ASCII)
EXPECTED = "SW|CA lid port 0xGUID 4x QDR - SW|CA lid port 0xGUID ( 'a' - 'b' )"


def read_ports_report(lines: Lines) -> Dump:
    """Boxes and cable ends of ``ibnetdiscover -p``; FabricError names file and line."""
    dump = Dump(lines.path, "ibnetdiscover -p")
    ports: dict[str, int] = {}
    for number, line in lines.entries():
        found = LINE.fullmatch(line)
        if not found:
            raise lines.fault(number, "not a line of a ports report", EXPECTED)
        kind, lid, port, guid, width, speed = found.group(1, 2, 3, 4, 5, 6)
        own, far, alone = found.group(11, 12, 13)
        key = dump.see(kind, guid, int(lid), alone if own is None else own, number)
        ports[key] = max(ports.get(key, 0), int(port))
        if own is not None:
            peer = dump.see(found[7], found[10], int(found[8]), far, number)
            ports[peer] = max(ports.get(peer, 0), int(found[9]))
            dump.ends.append(End(key, int(port), peer, int(found[9]), width + speed, rate_of(width + speed), number))
    if not dump.boxes:
        raise lines.fault(len(lines.lines), "no port up to the end", "the output of ibnetdiscover -p")
    for key, most in ports.items():
        dump.boxes[key] = replace(dump.boxes[key], ports=most)
    return dump


HEADER = re.compile(r'(Switch|Ca|Hca|Rt)\s+(\d{1,5})\s+"([^"]+)"\s*(?:#\s*(.*))?', re.ASCII | re.IGNORECASE)
PORT = re.compile(
    r'\[(\d{1,5})\](?:\s*\[ext [^\]]*\])?(?:\(([0-9a-fA-F]+)\))?\s*"([^"]+)"\s*\[(\d{1,5})\]'
    r"(?:\s*\[ext [^\]]*\])?(?:\(([0-9a-fA-F]+)\))?\s*(?:#\s*(.*)|[^\"#]*)",
    re.ASCII,
)
IDENTITY = re.compile(r"(vendid|devid|sysimgguid|switchguid|caguid|rtguid)\s*=", re.IGNORECASE)
CHASSIS = re.compile(r"(Chassis|Non-Chassis)\b", re.IGNORECASE)  # headings of ibnetdiscover -g
PROGRESS = re.compile(r"(DR path|Lid path|ibwarn|ibpanic|ibdebug)\b|(src/)?[\w-]+\.[ch]:\d+[:;]", re.IGNORECASE)
QUOTED = re.compile(r'"(.*)"')
SPEED = re.compile(r"\b(\d{1,2}x[A-Za-z0-9?]{2,8})\b")
LID = re.compile(r"\blid (\d{1,9})\b")
LMC = re.compile(r"\blmc ([1-7])\b")
BESIDE = (IDENTITY, CHASSIS, PROGRESS)  # lines that describe no box and no port
KINDS: dict[str, BoxKind] = {"switch": "switch", "ca": "host", "hca": "host", "rt": "router"}
MOST_PORTS = 65535


def read_ibnetdiscover(lines: Lines) -> Dump:
    """Boxes and cable ends of ``ibnetdiscover`` or an ibsim ``.net`` file; FabricError names file and line."""
    guids = any('"S-' in line or '"H-' in line for line in lines.lines)
    dump = Dump(lines.path, "ibnetdiscover" if guids else "ibsim")
    current: Box | None = None
    for number, line in lines.entries():
        if line.startswith("["):
            current = _port(dump, lines, number, line, current)
        elif any(kind.match(line) for kind in BESIDE):
            continue
        elif line.split(None, 1)[0].lower() in KINDS:
            current = _header(lines, number, line)
            dump.add(current)
            if (lmc := LMC.search(line.rpartition('"')[2])) is not None:
                dump.lmc[current.key] = int(lmc[1])
        elif line.split(None, 1)[0] != "do":  # "do" is a console command of ibsim
            raise lines.fault(number, "neither a box nor a port", 'Switch|Ca|Rt <ports> "<id>", or [port] "<id>"[port]')
    if not dump.boxes:
        raise lines.fault(len(lines.lines), "no box up to the end", "output of ibnetdiscover, or an ibsim .net file")
    return dump


def _header(lines: Lines, number: int, line: str) -> Box:
    found = HEADER.fullmatch(line)
    if not found or not 0 < int(found[2]) <= MOST_PORTS:
        raise lines.fault(number, "not a box", 'Switch|Ca|Rt <ports> "<id>" # "<description>"')
    _, label, rest = _comment(found[4])
    kind = KINDS[found[1].lower()]
    lid = LID.search(rest)
    return Box(
        found[3], kind_of_adapter(label) if kind == "host" else kind, int(found[2]), label,
        (int(lid[1]),) if lid else (), number,
    )  # fmt: skip


def _comment(text: str | None) -> tuple[str, str, str]:
    """What stands before the description in a comment, the description, and what follows it: all without one."""
    label = QUOTED.search(text or "")
    return (text[: label.start()], label[1], text[label.end() :]) if text and label else ("", "", text or "")


def _port(dump: Dump, lines: Lines, number: int, line: str, box: Box | None) -> Box:
    found = PORT.fullmatch(line)
    if not found:
        raise lines.fault(number, "not a port", '[port] "<id>"[port] # ... 4xQDR')
    if box is None:
        raise lines.fault(number, "a port before any box", 'a line such as Switch 36 "S-..." above it')
    port, peer_port = int(found[1]), int(found[4])
    if not 0 < port <= box.ports:
        raise lines.fault(number, f"{box.key} has {box.ports} ports", f"a port from 1 to {box.ports}")
    own, _, rest = _comment(found[6])
    speed = SPEED.search(rest)
    text = speed[1] if speed else ""
    dump.ends.append(End(box.key, port, found[3], peer_port, text, rate_of(text), number))
    if box.kind == "switch":
        return box
    if found[2] and len(found[2]) <= 16:
        dump.port_guids[box.key, port] = int(found[2], 16)
    if before := LID.search(own):
        # an adapter's own LID precedes the description of the far end
        box = replace(box, lids=(*box.lids, int(before[1])))
        if dump.boxes[box.key].line == box.line:
            dump.boxes[box.key] = box
            dump.port_lids[box.key, port] = int(before[1])
            if (lmc := LMC.search(own)) is not None:
                dump.lmc[box.key] = int(lmc[1])
    return box
