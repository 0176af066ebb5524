# SPDX-License-Identifier: BSD-3-Clause
"""``opensm-subnet.lst``: OpenSM's list of links, with one line for each end.

    { CA Ports:01 SystemGUID:.. NodeGUID:.. PortGUID:.. VenID:.. DevID:.. Rev:.. {node0} LID:0001 PN:01 } { SW ... }
    (the same line:) PHY=4x LOG=ACT SPD=2.5

LIDs are hexadecimal. ``SPD`` is the signalling rate of a lane in Gbit/s.
"""

import re

from weft.fabric.readers.dump import Dump, End, Lines, rate_of

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
        a, b = (_see(dump, found.groups()[at : at + 7], number) for at in (0, 7))
        speed = found[15] + SIGNALLED.get(found[17], found[17])
        if found[16] == "ACT":
            dump.ends.append(End(a[0], a[1], b[0], b[1], speed, rate_of(speed), number))
        else:
            dump.down.append((number, f"{a[0]} port {a[1]}: {found[16]}"))
    if not dump.boxes:
        raise lines.fault(len(lines.lines), "no link up to the end", EXPECTED)
    return dump


def _see(dump: Dump, side: tuple[str, ...], number: int) -> tuple[str, int]:
    """Key and port of a side; adds its box if it is new."""
    letters, ports, guid, port_guid, label, lid, port = side
    letters, at = letters.removesuffix("-SM"), int(port, 16)
    key = dump.see(letters, guid, int(lid, 16), label, number, int(ports, 16))
    dump.port_lids[key, at] = int(lid, 16)
    if letters == "CA":
        dump.port_guids[key, at] = int(port_guid, 16)
    return key, at
