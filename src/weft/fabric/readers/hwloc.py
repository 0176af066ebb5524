# SPDX-License-Identifier: BSD-3-Clause
"""``lstopo --of xml``: sockets, cores and memory of one node."""

import xml.etree.ElementTree as ET
from dataclasses import dataclass

from weft.errors import FabricError
from weft.fabric.readers.dump import Lines

PACKAGES = {"Package", "Socket"}  # hwloc 1.x writes Socket


@dataclass(frozen=True)
class NodeShape:
    """A node as hwloc describes it."""

    host: str  # its name; empty if hwloc does not state it
    processor: str  # model of its processors
    # operating system's numbers of the processing units of each core, by socket: ``cores[socket][core] == (pu, pu,
    # ...)``
    cores: tuple[tuple[tuple[int, ...], ...], ...]
    memory: int  # bytes over all its NUMA nodes

    @property
    def sockets(self) -> int:
        """Number of processors."""
        return len(self.cores)

    @property
    def cores_total(self) -> int:
        """Cores over all sockets."""
        return sum(len(socket) for socket in self.cores)


def read_hwloc(lines: Lines) -> NodeShape:
    """Sockets, cores and memory of a node from hwloc's XML, versions 1 to 3; FabricError names file and line."""
    for number, line in lines.numbered():
        # Entities can refer to other files or expand without limit; hwloc writes none.
        if "<!ENTITY" in line.upper():
            raise lines.fault(number, "an entity declaration", "the output of lstopo --of xml, which has none")
    try:
        root = ET.fromstring("\n".join(lines.lines).encode("utf-8", errors="replace"))
    except (ET.ParseError, ValueError, LookupError) as error:
        at = getattr(error, "position", (1, 0))[0]
        raise lines.fault(at, f"no XML ({error})", "the output of lstopo --of xml") from error
    machine = root.find("object")
    if root.tag != "topology" or machine is None or machine.get("type") != "Machine":
        raise lines.fault(1, "no hwloc topology", '<topology> with an <object type="Machine"> in it')
    try:
        return _shape(lines, machine)
    except RecursionError:
        raise FabricError(f"{lines.path}: objects nested too deeply", "give the output of lstopo --of xml") from None


def _shape(lines: Lines, machine: ET.Element) -> NodeShape:
    packages = [o for o in machine.iter("object") if o.get("type") in PACKAGES] or [machine]
    cores = tuple(tuple(_units(lines, core) for core in _cores(package)) for package in packages)
    if not all(cores) or not all(all(core) for core in cores):
        raise FabricError(
            f"{lines.path}: a processor without cores or processing units",
            "give the output of lstopo --of xml of the whole node (without --filter or --no-smt)",
        )
    holders = [o for o in machine.iter("object") if o.get("type") == "NUMANode"] or [machine]
    memory = sum(_number(lines, o, "local_memory") for o in holders if o.get("local_memory") is not None)
    info = {i.get("name", ""): i.get("value", "") for i in machine.iter("info")}
    return NodeShape(info.get("HostName", ""), info.get("CPUModel", ""), cores, memory)


def _cores(package: ET.Element) -> list[ET.Element]:
    """Cores of a package; its processing units if hwloc sees no cores (some virtual machines)."""
    found = [o for o in package.iter("object") if o.get("type") == "Core"]
    return found or [o for o in package.iter("object") if o.get("type") == "PU"]


def _units(lines: Lines, core: ET.Element) -> tuple[int, ...]:
    return tuple(_number(lines, o, "os_index") for o in core.iter("object") if o.get("type") == "PU")


def _number(lines: Lines, item: ET.Element, key: str) -> int:
    text = item.get(key, "")
    if not (text.isascii() and text.isdigit() and len(text) < 19):
        raise FabricError(
            f"{lines.path}: {key} = {text[:40]!r} of a {item.get('type')} is not a number",
            "give the output of lstopo --of xml",
        )
    return int(text)
