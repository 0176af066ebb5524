# SPDX-License-Identifier: BSD-3-Clause
"""Tables of links: bytes over each in every launch, its load over all launches, and the bottleneck of each point."""

from typing import TypedDict

import pyarrow as pa

from weft.store.tables import TableOf

TEXT, INT, LONG, REAL, FLAG = pa.string(), pa.int32(), pa.int64(), pa.float64(), pa.bool_()


HOSTS = "the hosts' own links"


class LinkRow(TypedDict):
    """One direction of a link in one launch of a cell (or batch of cells).

    ``rate`` is in bytes per second; ``share`` is bytes / (rate x seconds).
    """

    cell: str
    launch: int
    launch_id: str
    nodes: int
    ranks: int
    link: str
    cable: str
    source: str
    target: str
    direction: str
    host_link: bool
    bytes: int
    packets: int
    drops: int
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
    drops: int
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


LOAD = [
    ("link", TEXT), ("cable", TEXT), ("source", TEXT), ("target", TEXT), ("host_link", FLAG), ("rate", REAL),
    ("bytes", REAL), ("drops", LONG), ("share", REAL),
]  # fmt: skip
LINKS = TableOf(
    "links",
    LinkRow,
    pa.schema(
        [
            ("cell", TEXT), ("launch", pa.int16()), ("launch_id", TEXT), ("nodes", INT), ("ranks", INT),
            ("link", TEXT), ("cable", TEXT), ("source", TEXT), ("target", TEXT), ("direction", TEXT),
            ("host_link", FLAG), ("bytes", LONG), ("packets", LONG), ("drops", LONG), ("rate", REAL),
            ("seconds", REAL), ("basis", TEXT), ("share", REAL), ("method", TEXT),
        ]
    ),
)  # fmt: skip
LOADS = TableOf(
    "link_loads",
    LoadRow,
    pa.schema([("cell", TEXT), ("nodes", INT), ("ranks", INT), *LOAD, ("moved_bytes", REAL)]),
)
BOTTLENECKS = TableOf(
    "bottlenecks",
    BottleneckRow,
    pa.schema(
        [
            ("cell", TEXT), ("nodes", INT), ("ranks", INT), ("name", TEXT), ("bound", TEXT), ("bound_ratio", REAL),
            ("busiest", pa.struct(LOAD)), ("other", pa.struct(LOAD)),
        ]
    ),
)  # fmt: skip
