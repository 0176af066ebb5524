# SPDX-License-Identifier: BSD-3-Clause
"""Tables of links: bytes over each in every launch, its load over all launches, and the bottleneck of each point."""

from typing import TypedDict

from weft.store.tables import Long, Short, TableOf

HOSTS = "the hosts' own links"


class LinkRow(TypedDict):
    """One direction of a link in one launch of a cell (or batch of cells).

    ``rate`` is in bytes per second; ``share`` is bytes / (rate x seconds).
    """

    cell: str
    launch: Short
    launch_id: str
    nodes: int
    ranks: int
    link: str
    cable: str
    source: str
    target: str
    direction: str
    host_link: bool
    bytes: Long
    packets: Long
    drops: Long
    rate: float | None
    seconds: float | None
    basis: str
    share: float | None
    method: str


class Load(TypedDict):
    """The load of one direction of a link in a cell, over all its launches.

    ``bytes`` is the mean over launches; ``share`` is the share of the link's rate while the operations ran, None if the
    rate or the time is unknown; ``drops`` counts packets of all launches.
    """

    link: str
    cable: str
    source: str
    target: str
    host_link: bool
    rate: float | None
    bytes: float
    drops: Long
    share: float | None


class LoadRow(Load):
    """A load with its cell (or batch of cells), the busiest link first; ``moved_bytes`` is the sum over its links."""

    cell: str
    nodes: int
    ranks: int
    moved_bytes: float


class BottleneckRow(TypedDict):
    """The bottleneck of one point.

    ``name`` is ``injection`` (the hosts' own links), ``link leaf0 up``, ``memory copy``, ...; empty if links were
    counted and none was busy. ``bound_ratio`` is the measured time over the nearest lower bound. ``busiest`` is the
    busiest link, ``other`` the busiest one of the other class (hosts' links, or links between switches).
    """

    cell: str
    nodes: int
    ranks: int
    name: str
    bound: str
    bound_ratio: float | None
    busiest: Load | None
    other: Load | None


LINKS = TableOf("links", LinkRow)
LOADS = TableOf("link_loads", LoadRow, "cell nodes ranks")
BOTTLENECKS = TableOf("bottlenecks", BottleneckRow)
