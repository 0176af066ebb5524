# SPDX-License-Identifier: BSD-3-Clause
"""The table of causes: of what the main call of each cell takes its time, as far as the run knows."""

from typing import Literal, TypedDict

from weft.store.tables import TableOf

CauseKind = Literal["link", "hardware", "messages", "contention", "algorithm", "arrival", "bound", "unknown"]


class CauseRow(TypedDict):
    """What most of the time of a cell's main call goes to.

    ``kind``: a ``link`` that was counted as busy, a step of the breakdown, the nearest ``bound`` where no breakdown was
    measured, or ``unknown``. ``name`` is that of the link or bound. ``share`` is of the time for a step or a bound, of
    the link's rate for a link, null if unknown.
    """

    cell: str
    call: str
    nodes: int
    ranks: int
    kind: CauseKind
    name: str
    share: float | None


CAUSES = TableOf("causes", CauseRow)
