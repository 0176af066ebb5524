# SPDX-License-Identifier: BSD-3-Clause
"""The table of remedies: what would help, and how much at most."""

from typing import Literal, TypedDict

from weft.store.tables import TableOf

Basis = Literal["measured", "simulated", "only bounded"]


class RemedyRow(TypedDict):
    """Something that would make a call faster; `weft.words.remedies` says it.

    ``id`` names its kind (``second-cable``), ``subject`` what of it: an algorithm, a setting, a knob, a link.
    ``seconds`` is the call's time, ``saves_s`` what the remedy could save of it at most. ``basis``: the faster way was
    ``measured`` (or ``simulated``) in this run, or its gain is ``only bounded``: nobody has tried it. ``floor_s`` is
    the lower bound that remains, by ``floor``; ``ratio`` the measured time over today's. ``setting`` is the environment
    variable that does it (``NAME=VALUE``; may be empty).
    """

    cell: str
    call: str
    nodes: int
    ranks: int
    seconds: float
    id: str
    subject: str
    saves_s: float
    basis: Basis
    floor_s: float | None
    floor: str
    ratio: float | None
    setting: str


REMEDIES = TableOf("remedies", RemedyRow)
