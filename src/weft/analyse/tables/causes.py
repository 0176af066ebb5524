# SPDX-License-Identifier: BSD-3-Clause
"""The table of causes: of what the main call of each cell takes its time, as far as the run knows."""

from typing import Literal, TypedDict

import pyarrow as pa

from weft.analyse.tables.links import HOSTS
from weft.bound.terms import COPY, INJECTION, LINK
from weft.store.typed import TableOf

TEXT, INT, REAL = pa.string(), pa.int32(), pa.float64()

CauseKind = Literal["link", "hardware", "messages", "contention", "algorithm", "arrival", "bound", "unknown"]


class CauseRow(TypedDict):
    """What most of the time of a cell's main call goes to.

    ``kind``: a ``link`` that was counted as busy, a step of the breakdown, the nearest ``bound`` where no breakdown was
    measured, or ``unknown``. ``name`` is that of the link or bound. ``share`` is of the time for a step or a bound, of
    the link's rate for a link, null if unknown. ``short`` names the cause in a few words, ``statement`` in a sentence.
    """

    cell: str
    call: str
    nodes: int
    ranks: int
    kind: CauseKind
    name: str
    share: float | None
    short: str
    statement: str


CAUSES = TableOf(
    "causes",
    CauseRow,
    pa.schema(
        [
            ("cell", TEXT), ("call", TEXT), ("nodes", INT), ("ranks", INT), ("kind", TEXT), ("name", TEXT),
            ("share", REAL), ("short", TEXT), ("statement", TEXT),
        ]
    ),
)  # fmt: skip


def part_in_words(name: str) -> str:
    """A part of the machine in a few words: ``the uplink of leaf0``, ``memory copying``, ``the hosts' own links``."""
    if name in (INJECTION, COPY):
        return {INJECTION: HOSTS, COPY: "memory copying"}[name]
    place, _, way = name.removeprefix(LINK).strip().rpartition(" ")
    if name.startswith(LINK) and place and way in ("up", "down"):
        return f"the {way}link of {place}"
    return f"the {name}" if name.startswith(LINK) else name
