# SPDX-License-Identifier: BSD-3-Clause
"""What a scheduler and this host say of a site: nodes, queues, and adapters under ``/sys/class/infiniband``."""

import json
import re
from collections.abc import Container, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from weft.fabric.nodeset import NodeSetError, expand
from weft.files.reading import is_table
from weft.text import plain

NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._+-]{0,63}", re.ASCII)
MOST_NUMBER = 10_000_000


@dataclass(frozen=True)
class NodeClass:
    """Nodes that are alike; numbers are 0 where not stated."""

    names: tuple[str, ...]
    cores: int = 0  # of a node, over all its sockets
    sockets: int = 0
    threads: int = 0  # hardware threads of a core
    memory: int = 0  # bytes of a node
    devices: str = ""  # its other resources in the scheduler's words (``gpu:4``)

    @property
    def likeness(self) -> "NodeClass":
        """What makes nodes alike: all but their names."""
        return replace(self, names=())


@dataclass(frozen=True)
class Queue:
    """A queue or partition; limits are 0 where there is none, or none is stated."""

    name: str  # empty where the scheduler has only one, without a name
    is_default: bool = False  # whether a job without a queue goes there
    limit_s: float = 0.0  # longest job in seconds
    classes: tuple[NodeClass, ...] = ()  # its nodes that are up, by likeness
    down: tuple[str, ...] = ()  # names of its nodes that are down, drained or reserved
    hints: tuple[tuple[str, str], ...] = ()  # keys of ``[batch]`` and what is stated of each: who may use the queue
    most: int = 0  # most nodes of a job

    @property
    def nodes(self) -> int:
        """How many of its nodes are up."""
        return sum(len(each.names) for each in self.classes)

    @property
    def hosts(self) -> set[str]:
        """Names of all its nodes, of those that are down too."""
        return {*self.down, *(name for each in self.classes for name in each.names)}

    def part(self, hosts: Container[str], **stated: Any) -> "Queue":
        """A queue with those of its nodes alone that have one of the names, the largest class first."""
        own = (replace(each, names=tuple(name for name in each.names if name in hosts)) for each in self.classes)
        down = tuple(name for name in self.down if name in hosts)
        return replace(self, classes=_largest_first(own), down=down, **stated)


@dataclass(frozen=True)
class Adapter:
    """A port of an adapter under ``/sys/class/infiniband``: its name, its rate as printed there, its link layer."""

    name: str
    rate: str
    layer: str


@dataclass(frozen=True)
class Site:
    """A cluster as its scheduler describes it."""

    kind: str  # of fabric
    name: str = ""  # the cluster's name; empty where not stated
    queues: tuple[Queue, ...] = ()
    mpi: tuple[str, ...] = ()  # how the scheduler's own starter can meet MPI: ``pmix``, ``pmi2``
    leaves: tuple[tuple[str, tuple[str, ...]], ...] = ()  # leaf switches: name, and the names of the nodes on each
    asked: tuple[str, ...] = ()  # the commands whose output was read
    unread: tuple[str, ...] = ()  # what was printed and not understood, in words


class Answers:
    """What a scheduler's commands printed, by command, and a few examples of what of it was not understood."""

    def __init__(self, outputs: Mapping[tuple[str, ...], str]) -> None:
        self.outputs = outputs
        self.unread: list[str] = []

    def text(self, command: tuple[str, ...]) -> str:
        """What a command printed; empty where it could not be asked."""
        return self.outputs.get(command, "")

    def doubt(self, command: str, text: str) -> None:
        """Note a text of a command as not understood; at most five are kept."""
        if len(self.unread) < 5:
            self.unread.append(f"{command}: {plain(text.strip())[:80]}")

    def names(self, text: str, command: str) -> tuple[str, ...]:
        """Names in a node set; none, and noted as not understood, if it is none."""
        try:
            return expand(text)
        except NodeSetError:
            self.doubt(command, text)
            return ()

    def tree(self, command: tuple[str, ...], called: str) -> dict[str, Any]:
        """The tree of what a command printed as JSON; an empty one, and noted as not understood, if it is none."""
        text = self.text(command)
        try:
            return table(json.loads(text) if text.strip() else {})
        except (ValueError, RecursionError):
            self.doubt(called, text)
            return {}

    def site(
        self, kind: str, name: str, queues: Iterable[Queue], everywhere: Queue | None = None, *,
        mpi: tuple[str, ...] = (), leaves: tuple[tuple[str, tuple[str, ...]], ...] = (), words: int | None = 3,
    ) -> Site:  # fmt: skip
        """The site; the queue ``everywhere`` if there is no other. Its commands are named by their first ``words``."""
        found = tuple(queues) or ((everywhere,) if everywhere else ())
        asked = tuple(" ".join(command[:words]) for command, text in self.outputs.items() if text.strip())
        return Site(kind, name, found, mpi, leaves, asked, tuple(self.unread))


def table(value: object) -> dict[str, Any]:
    """A table of a tree; an empty one for what is none."""
    return value if is_table(value) else {}


def scaled(text: object, units: Mapping[str, int]) -> float:
    """A number with its unit, ``503.3G``, ``1.5d``; 0 for what is none."""
    found = re.fullmatch(r"(\d{1,15}(?:\.\d{1,6})?)([A-Za-z]+)", str(text).strip(), re.ASCII)
    return float(found[1]) * units.get(found[2], 0) if found else 0.0


def word(text: object) -> str:
    """A name of a queue, cluster or account as it may stand in a file; empty if it is none."""
    return text if isinstance(text, str) and NAME.fullmatch(text) else ""


def count(text: object) -> int:
    """A whole number at the beginning of a text (``2+``); 0 if there is none, or it is beyond belief."""
    found = re.match(r"\s*(\d{1,9})", str(text), re.ASCII)
    number = int(found[1]) if found else 0
    return number if number <= MOST_NUMBER else 0


def alike(classes: Iterable[NodeClass]) -> tuple[NodeClass, ...]:
    """Classes with nodes of the same likeness joined, the largest first; each node in one of them."""
    joined: dict[NodeClass, dict[str, None]] = {}
    seen: set[str] = set()
    for each in classes:
        joined.setdefault(each.likeness, {}).update(dict.fromkeys(name for name in each.names if name not in seen))
        seen.update(each.names)
    return _largest_first(replace(likeness, names=tuple(names)) for likeness, names in joined.items())


def _largest_first(classes: Iterable[NodeClass]) -> tuple[NodeClass, ...]:
    return tuple(sorted((each for each in classes if each.names), key=lambda each: -len(each.names)))


def rows(text: str, separator: str | None = None) -> Iterator[list[str]]:
    """Fields of each line that is not empty."""
    return ([part.strip() for part in line.split(separator)] for line in text.splitlines() if line.strip())


GENERATIONS = ("QDR", "FDR", "EDR", "HDR", "NDR")


def read_adapters(folder: Path = Path("/sys/class/infiniband")) -> tuple[Adapter, ...]:
    """Active ports, InfiniBand and the fastest first: a slower Ethernet port for storage often has a lower name."""
    found: list[Adapter] = []
    for port in sorted(folder.glob("*/ports/*")):
        state, rate, layer = (_text(port / name) for name in ("state", "rate", "link_layer"))
        if "ACTIVE" in state:
            found.append(Adapter(f"{plain(port.parts[-3])} port {plain(port.name)}", rate, layer or "InfiniBand"))
    return tuple(sorted(found, key=lambda each: (each.layer != "InfiniBand", -gbit(each))))


def preset_of(adapter: Adapter) -> str:
    """Name of the preset of ``[network]`` that has this adapter's numbers; empty if none has."""
    if adapter.name.startswith("hfi1"):
        return "omni-path-100" if gbit(adapter) == 100 else ""
    found = re.search(r"\((\d+)X (\w+)\)", adapter.rate)
    known = found is not None and found[1] == "4" and adapter.layer == "InfiniBand" and found[2] in GENERATIONS
    return f"{found[2].lower()}-infiniband" if found and known else ""


def gbit(adapter: Adapter) -> float:
    """Rate in Gbit/s: ``100 Gb/sec (4X EDR)``; 0 if it says none."""
    found = re.match(r"(\d{1,6}(?:\.\d{1,3})?) Gb/sec", adapter.rate)
    return float(found[1]) if found else 0.0


def _text(path: Path) -> str:
    try:
        return plain(path.read_bytes()[:200].decode("utf-8", "replace").strip())
    except OSError:
        return ""
