# SPDX-License-Identifier: BSD-3-Clause
"""``lstopo --of xml``: sockets, cores and memory of one node."""

import xml.etree.ElementTree as ET
from dataclasses import dataclass

from weft.errors import FabricError
from weft.fabric.readers.dump import Lines


@dataclass(frozen=True)
class NodeShape:
    """A node as hwloc describes it."""

    # operating system's numbers of the processing units of each core: ``cores[socket][core] == (pu, pu, ...)``
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
    for number, line in enumerate(lines.lines, start=1):
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
    packages = _inside(machine, "Package", "Socket") or [machine]  # hwloc 1.x writes Socket
    # processing units are cores where hwloc sees none (some virtual machines)
    cores_of = [_inside(package, "Core") or _inside(package, "PU") for package in packages]
    cores = tuple(
        tuple(tuple(_number(lines, unit, "os_index") for unit in _inside(core, "PU")) for core in own)
        for own in cores_of
    )
    if not all(cores) or not all(all(core) for core in cores):
        what = f"{lines.path}: a processor without cores or processing units"
        raise FabricError(what, "give the output of lstopo --of xml of the whole node (without --filter or --no-smt)")
    holders = _inside(machine, "NUMANode") or [machine]
    memory = sum(_number(lines, o, "local_memory") for o in holders if o.get("local_memory") is not None)
    return NodeShape(cores, memory)


def _inside(item: ET.Element, *types: str) -> list[ET.Element]:
    return [o for o in item.iter("object") if o.get("type") in types]


def _number(lines: Lines, item: ET.Element, key: str) -> int:
    text = item.get(key, "")
    if not (text.isascii() and text.isdigit() and len(text) < 19):
        what = f"{lines.path}: {key} = {text[:40]!r} of a {item.get('type')} is not a number"
        raise FabricError(what, "give the output of lstopo --of xml")
    return int(text)
