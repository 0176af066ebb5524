# SPDX-License-Identifier: BSD-3-Clause
"""What a scheduler and this host say of a site: nodes, queues, and adapters under ``/sys/class/infiniband``."""

import json
import re
from collections.abc import Container, Iterable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from weft.fabric.nodeset import NodeSetError, expand
from weft.files.reading import is_table
from weft.text import plain

NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._+-]{0,63}", re.ASCII)
MOST_NUMBER = 10_000_000


@dataclass(frozen=True)
class NodeClass:
    """Nodes that are alike."""

    names: tuple[str, ...]  # their names
    # cores, sockets, threads: cores of a node over all its sockets, its sockets, hardware threads of a core; 0 where
    # not stated
    cores: int = 0
    sockets: int = 0
    threads: int = 0
    memory: int = 0  # bytes of a node; 0 where not stated
    devices: str = ""  # its other resources in the scheduler's words (``gpu:4``); empty where it has none

    @property
    def likeness(self) -> tuple[int, int, int, int, str]:
        """What makes nodes alike."""
        return self.cores, self.sockets, self.threads, self.memory, self.devices


@dataclass(frozen=True)
class Queue:
    """A queue or partition."""

    name: str  # its name; empty where the scheduler has only one, without a name
    is_default: bool = False  # whether a job without a queue goes there
    limit_s: float = 0.0  # longest job in seconds; 0 where there is no limit, or none is stated
    classes: tuple[NodeClass, ...] = ()  # its nodes that are up, by likeness
    down: tuple[str, ...] = ()  # names of its nodes that are down, drained or reserved
    hints: tuple[tuple[str, str], ...] = ()  # keys of ``[batch]`` and what is stated of each: who may use the queue
    most: int = 0  # most nodes of a job; 0 where there is no limit, or none is stated

    @property
    def nodes(self) -> int:
        """How many of its nodes are up."""
        return sum(len(each.names) for each in self.classes)


@dataclass(frozen=True)
class Adapter:
    """A port of an adapter under ``/sys/class/infiniband``: its name, its rate as printed there, its link layer."""

    name: str
    rate: str
    layer: str


@dataclass(frozen=True)
class Site:
    """A cluster as its scheduler describes it."""

    kind: str  # the kind of fabric
    name: str = ""  # the cluster's name; empty where not stated
    queues: tuple[Queue, ...] = ()  # its queues
    mpi: tuple[str, ...] = ()  # how the scheduler's own starter can meet MPI: ``pmix``, ``pmi2``
    leaves: tuple[tuple[str, tuple[str, ...]], ...] = ()  # leaf switches: name, and the names of the nodes on each
    asked: tuple[str, ...] = ()  # the commands whose output was read
    unread: tuple[str, ...] = ()  # what was printed and not understood, in words

    @property
    def queue(self) -> Queue | None:
        """The queue to measure in: the default one if it has nodes, else the one with most; None without nodes."""
        there = [queue for queue in self.queues if queue.nodes]
        return max(there, key=lambda queue: (queue.is_default, queue.nodes), default=None)


@dataclass
class Unread:
    """Collects what was not understood, a few examples of each."""

    lines: list[str] = field(default_factory=list[str])

    def add(self, command: str, text: str) -> None:
        """Note a text of a command; at most five are kept."""
        if len(self.lines) < 5:
            self.lines.append(f"{command}: {plain(text.strip())[:80]}")


def names_of(text: str, command: str, unread: Unread) -> tuple[str, ...]:
    """Names in a node set; none, and noted as not understood, if it is none."""
    try:
        return expand(text)
    except NodeSetError:
        unread.add(command, text)
        return ()


def parsed(text: str, command: str, unread: Unread) -> dict[str, Any]:
    """The tree of a JSON text; an empty one, and noted as not understood, if it is none."""
    tree: Any = {}
    try:
        tree = json.loads(text) if text.strip() else {}
    except (ValueError, RecursionError):
        unread.add(command, text)
    return tree if is_table(tree) else {}


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
    joined: dict[tuple[int, int, int, int, str], dict[str, None]] = {}
    first: dict[tuple[int, int, int, int, str], NodeClass] = {}
    seen: set[str] = set()
    for each in classes:
        first.setdefault(each.likeness, each)
        new = [name for name in each.names if name not in seen]
        seen.update(new)
        joined.setdefault(each.likeness, {}).update(dict.fromkeys(new))
    found = [replace(first[key], names=tuple(names)) for key, names in joined.items() if names]
    return tuple(sorted(found, key=lambda each: -len(each.names)))


def among(classes: Iterable[NodeClass], names: Container[str]) -> tuple[NodeClass, ...]:
    """Classes of those nodes alone that have one of the names, the largest first."""
    kept = (replace(each, names=tuple(name for name in each.names if name in names)) for each in classes)
    return tuple(sorted((each for each in kept if each.names), key=lambda each: -len(each.names)))


def rows(text: str, separator: str | None = None) -> Iterator[list[str]]:
    """Fields of each line that is not empty."""
    return ([part.strip() for part in line.split(separator)] for line in text.splitlines() if line.strip())


GENERATIONS = {"QDR": "qdr", "FDR": "fdr", "EDR": "edr", "HDR": "hdr", "NDR": "ndr"}
OMNI_PATH = "hfi1"


def read_adapters(folder: Path = Path("/sys/class/infiniband")) -> tuple[Adapter, ...]:
    """Ports that are active, those of InfiniBand and the fastest first; none where there is no such folder.

    The first is taken for that of the messages: many nodes have a slower Ethernet port, for storage, with a lower name.
    """
    found: list[Adapter] = []
    for port in sorted(folder.glob("*/ports/*")):
        state, rate, layer = (_text(port / name) for name in ("state", "rate", "link_layer"))
        if "ACTIVE" in state:
            found.append(Adapter(f"{plain(port.parts[-3])} port {plain(port.name)}", rate, layer or "InfiniBand"))
    return tuple(sorted(found, key=lambda each: (each.layer != "InfiniBand", -gbit(each))))


def preset_of(adapter: Adapter) -> str:
    """Name of the preset of ``[network]`` that has this adapter's numbers; empty if none has."""
    if adapter.name.startswith(OMNI_PATH):
        return "omni-path-100" if gbit(adapter) == 100 else ""
    found = re.search(r"\((\d+)X (\w+)\)", adapter.rate)
    if not found or found[1] != "4" or adapter.layer != "InfiniBand":
        return ""
    name = GENERATIONS.get(found[2], "")
    return f"{name}-infiniband" if name else ""


def gbit(adapter: Adapter) -> float:
    """Rate in Gbit/s: ``100 Gb/sec (4X EDR)``; 0 if it says none."""
    found = re.match(r"(\d{1,6}(?:\.\d{1,3})?) Gb/sec", adapter.rate)
    return float(found[1]) if found else 0.0


def _text(path: Path) -> str:
    try:
        return plain(path.read_bytes()[:200].decode("utf-8", "replace").strip())
    except OSError:
        return ""
