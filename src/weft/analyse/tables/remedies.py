# SPDX-License-Identifier: BSD-3-Clause
"""The table of remedies: what would help, and how much at most."""

from typing import Any, Literal, TypedDict

import pyarrow

from weft.store.typed import TableOf

pa: Any = pyarrow  # it comes without types
TEXT, INT, REAL = pa.string(), pa.int32(), pa.float64()

Basis = Literal["measured", "simulated", "only bounded"]


class RemedyRow(TypedDict):
    """Something that would make a call faster.

    ``seconds`` is the call's time, ``saves_s`` what the remedy could save of it at most. ``basis``: the faster way was
    ``measured`` (or ``simulated``) in this run, or its gain is ``only bounded``: nobody has tried it. ``why`` says
    where the number comes from, ``setting`` is the environment variable that does it (``NAME=VALUE``; may be empty).
    """

    cell: str
    call: str
    nodes: int
    ranks: int
    seconds: float
    remedy: str
    saves_s: float
    basis: Basis
    why: str
    setting: str


REMEDIES = TableOf(
    "remedies",
    RemedyRow,
    pa.schema(
        [
            ("cell", TEXT), ("call", TEXT), ("nodes", INT), ("ranks", INT), ("seconds", REAL), ("remedy", TEXT),
            ("saves_s", REAL), ("basis", TEXT), ("why", TEXT), ("setting", TEXT),
        ]
    ),
)  # fmt: skip
