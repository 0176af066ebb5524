# SPDX-License-Identifier: BSD-3-Clause
"""Readers of dumps of real machines; each is imported for its first dump, since most commands read none."""

import re
from pathlib import Path
from typing import Literal, get_args

from weft.errors import FabricError
from weft.fabric.readers.dump import Box, Dump, End, Lines
from weft.fabric.readers.tables import Tables, read_tables

Format = Literal["ibnetdiscover", "ports", "slurm", "ibsim", "subnet-list", "ibdiagnet", "edges", "lldp"]
__all__ = ["Box", "Dump", "End", "Format", "Lines", "Tables", "detect", "read_dump", "read_names", "read_tables"]
MARKS: dict[Format, re.Pattern[str]] = {  # how a line begins that is in no other format
    "ibnetdiscover": re.compile(r"\s*((?i:Switch|Ca|Hca|Rt)\s+\d+\s+\"|(vendid|devid)=)"),
    "ports": re.compile(r"\s*(SW|CA|RT)\s+\d+\s+\d+\s+0x"),
    "slurm": re.compile(r"\s*(SwitchName|BlockName)\s*=", re.IGNORECASE),
    "subnet-list": re.compile(r"\s*\{ (CA|SW|RT)(-SM)? Ports:"),
    "ibdiagnet": re.compile(r"\s*START_[A-Z]\w*\s*$"),
    "lldp": re.compile(r'.*"lldp"\s*:'),
}


def detect(lines: Lines) -> Format:
    """The format of a dump, from the first line that identifies it; FabricError if none does."""
    from weft.fabric.readers.edges import is_edge_list
    from weft.fabric.readers.ibnetdiscover import PROGRESS

    for line in lines.lines:
        for form, mark in MARKS.items():
            if mark.match(line):
                return form
        if is_edge_list(line) and not PROGRESS.match(line):
            return "edges"
        if re.match(r"\s*Unicast lids \[|\w*dump_ucast_routes:", line):
            remedy = "weft fabric import NETWORK --tables TABLES, with the output of ibnetdiscover as the network"
            raise FabricError(f"{lines.path} holds forwarding tables, not a network", remedy)
    raise FabricError(
        f"{lines.path} is not in a format that Weft reads",
        "give the output of ibnetdiscover (plain, --full or -p), opensm-subnet.lst, ibdiagnet2.db_csv, an ibsim .net "
        "file, a CSV list of cables, neighbours by LLDP, a topology.conf of Slurm or the output of scontrol show "
        "topology",
    )


def read_dump(path: str | Path, form: Format | None = None) -> Dump:
    """Read a dump of a network; its format is detected if None. FabricError names file, line and what was expected."""
    lines = Lines.read(path)
    chosen = form or detect(lines)
    if chosen not in get_args(Format):
        raise FabricError(f"format {chosen!r} is not known", f"take one of {', '.join(get_args(Format))}")
    from weft.fabric.readers.edges import read_edges
    from weft.fabric.readers.ibdiagnet import read_ibdiagnet, read_subnet_list
    from weft.fabric.readers.ibnetdiscover import read_ibnetdiscover, read_ports_report
    from weft.fabric.readers.lldp import read_lldp
    from weft.fabric.readers.slurm import read_slurm

    readers = {
        "ports": read_ports_report,
        "slurm": read_slurm,
        "subnet-list": read_subnet_list,
        "ibdiagnet": read_ibdiagnet,
        "edges": read_edges,
        "lldp": read_lldp,
    }
    return readers.get(chosen, read_ibnetdiscover)(lines)


def read_names(path: str | Path) -> dict[str, str]:
    """Names by key: ``H-0002c90300080e84 node7``, or ``0x0002c90300080e84 "node7"``; FabricError for other lines."""
    lines = Lines.read(path)
    names, first = dict[str, str](), dict[str, int]()
    for number, line in lines.entries():
        found = re.fullmatch(r'(\S+)\s+"?([A-Za-z0-9][A-Za-z0-9._-]*)"?', line.split("#", 1)[0].strip(), re.ASCII)
        if not found:
            raise lines.fault(number, "not a name", "a key and a name, such as H-0002c90300080e84 node7")
        if found[2] in first:
            raise lines.fault(number, f"the name {found[2]} is in line {first[found[2]]} already", "a name once")
        key = found[1]
        guid = re.fullmatch(r"0x([0-9a-fA-F]{1,16})", key)
        for k in (f"H-{int(guid[1], 16):016x}", f"S-{int(guid[1], 16):016x}") if guid else (key,):
            names[k] = found[2]
        first[found[2]] = number
    return names
