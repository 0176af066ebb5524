# SPDX-License-Identifier: BSD-3-Clause
"""``ibnetdiscover -p``: one line per port, with the far end of its cable if there is one.

    SW     3  8 0x0000000000200001 4x SDR - SW     4  4 0x0000000000200002 ( 'leaf1' - 'spine0' )
    SW     3  6 0x0000000000200001 4x SDR                                    'leaf1'

The GUID is that of the port: for a switch the node's GUID, for an adapter a different one for each port. Two ports of
one adapter are therefore two hosts here; the plain format keeps them together.
"""

import re
from dataclasses import replace

from weft.fabric.readers.dump import Dump, End, Lines, rate_of

SIDE = r"(SW|CA|RT)\s+(\d{1,9})\s+(\d{1,5})\s+0x([0-9a-fA-F]{1,16})"
LINE = re.compile(SIDE + r"\s+(\S+)\s+(\S+)(?:\s+-\s+" + SIDE + r"\s+\(\s*'(.*)' - '(.*)'\s*\)|\s+'(.*)')\s*", re.ASCII)
EXPECTED = "SW|CA lid port 0xGUID 4x QDR - SW|CA lid port 0xGUID ( 'a' - 'b' )"


def read_ports_report(lines: Lines) -> Dump:
    """Boxes and cable ends of ``ibnetdiscover -p``; FabricError names file and line."""
    dump = Dump(lines.path, "ibnetdiscover -p")
    ports: dict[str, int] = {}
    for number, raw in lines.numbered():
        line = raw.strip()
        if not line or line.startswith("#"):
            continue
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
