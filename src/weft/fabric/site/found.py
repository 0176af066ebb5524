# SPDX-License-Identifier: BSD-3-Clause
"""A site as its scheduler describes it: queues, classes of equal nodes, switches, adapters."""

import json
import re
from collections.abc import Container, Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any

from weft.fabric.nodeset import NodeSetError, expand
from weft.files.reading import is_table
from weft.text import plain

NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._+-]{0,63}", re.ASCII)
MOST_NUMBER = 10_000_000


@dataclass(frozen=True)
class NodeClass:
    """Nodes that are alike.

    Attributes
    ----------
    names
        Their names.
    cores, sockets, threads
        Cores of a node over all its sockets, its sockets, hardware threads of a core; 0 where not said.
    memory
        Bytes of a node; 0 where not said.
    devices
        Its other resources in the scheduler's words (``gpu:4``); empty where it has none.
    """

    names: tuple[str, ...]
    cores: int = 0
    sockets: int = 0
    threads: int = 0
    memory: int = 0
    devices: str = ""

    @property
    def likeness(self) -> tuple[int, int, int, int, str]:
        """What makes nodes alike."""
        return self.cores, self.sockets, self.threads, self.memory, self.devices


@dataclass(frozen=True)
class Queue:
    """A queue or partition.

    Attributes
    ----------
    name
        Its name; empty where the scheduler has only one, without a name.
    is_default
        Whether a job without a queue goes there.
    limit_s
        Longest job in seconds; 0 where there is no limit, or none is said.
    classes
        Its nodes that are up, by likeness.
    down
        Names of its nodes that are down, drained or reserved.
    hints
        Keys of ``[batch]`` and what was said of each: who may use the queue.
    most
        Most nodes of a job; 0 where there is no limit, or none is said.
    """

    name: str
    is_default: bool = False
    limit_s: float = 0.0
    classes: tuple[NodeClass, ...] = ()
    down: tuple[str, ...] = ()
    hints: tuple[tuple[str, str], ...] = ()
    most: int = 0

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
    """A site.

    Attributes
    ----------
    kind
        The kind of fabric.
    name
        The cluster's name; empty where not said.
    queues
        Its queues.
    mpi
        How the scheduler's own starter can meet MPI: ``pmix``, ``pmi2``.
    leaves
        Leaf switches: name, and the names of the nodes on each.
    asked
        The commands whose output was read.
    unread
        What was printed and not understood, in words.
    """

    kind: str
    name: str = ""
    queues: tuple[Queue, ...] = ()
    mpi: tuple[str, ...] = ()
    leaves: tuple[tuple[str, tuple[str, ...]], ...] = ()
    asked: tuple[str, ...] = ()
    unread: tuple[str, ...] = ()

    @property
    def queue(self) -> Queue | None:
        """The queue to measure in: the default one if it has nodes, else the one with most; None without nodes."""
        there = [queue for queue in self.queues if queue.nodes]
        return max(there, key=lambda queue: (queue.is_default, queue.nodes), default=None)


@dataclass
class Unread:
    """Collects what was not understood, a few examples of each."""

    said: list[str] = field(default_factory=list[str])

    def add(self, command: str, text: str) -> None:
        """Note a text of a command; at most five are kept."""
        if len(self.said) < 5:
            self.said.append(f"{command}: {plain(text.strip())[:80]}")


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
