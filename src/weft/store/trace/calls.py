# SPDX-License-Identifier: BSD-3-Clause
"""The calls of a trace, by the one list that also makes the tracer: ``native/trace/calls.inc``."""

import re
from typing import NamedTuple

from weft.files.shipped import shipped

FINISH = "completion"  # name of a request's completion among the calls


class Call(NamedTuple):
    """A call that is recorded: its number, its family in the tracer, and ``Started`` or ``Made`` if that is wrapped."""

    number: int
    family: str
    wrapper: str


_LINE = re.compile(r"^WEFT_(?:CALL|PARTITIONED)\((\d+), (\w+), .*?(?:(Started|Made)<)?(\w+)>?\)$", re.MULTILINE)
_TEXT = (shipped("native") / "trace" / "calls.inc").read_text("utf-8")
VOCABULARY: dict[str, Call] = {
    f"MPI_{name}": Call(int(number), family, wrapper) for number, name, wrapper, family in _LINE.findall(_TEXT)
}
CALLS: dict[int, str] = {call.number: name for name, call in VOCABULARY.items()}  # name of every call by its number
NUMBERS: dict[str, int] = {name: number for number, name in CALLS.items()}


def _section(first: int, last: int) -> frozenset[str]:
    return frozenset(name for name, call in VOCABULARY.items() if first <= call.number <= last)


def calls_of(*families: str, wrapper: str = "") -> frozenset[str]:
    """Names of the calls of some families, with a wrapper (``Started``, ``Made``) or none."""
    return frozenset(name for name, call in VOCABULARY.items() if call.family in families and call.wrapper == wrapper)


BLOCKING_SENDS = calls_of("Send", "SendReceive", "SendReceiveReplace")
SENDS = BLOCKING_SENDS | calls_of("Send", wrapper="Started")
BLOCKING_RECEIVES = calls_of("Receive", "ReceiveMatched")
RECEIVES = BLOCKING_RECEIVES | calls_of("Post", wrapper="Started") | calls_of("StartedMatched")
WAITS = _section(112, 127) - calls_of("FreeRequest", "Cancel", "AskRequest")
COLLECTIVES = _section(128, 159)
STARTED_COLLECTIVES = _section(160, 191)
NEIGHBOURHOOD = _section(192, 207)
ONE_SIDED = _section(256, 287)
FILES = _section(320, 383)
PREPARING = _section(80, 127) | {"MPI_Startall"}
"""Calls that move nothing themselves: they make, probe, ask for or end requests."""

ALL_TO_ALLS = calls_of("AllToAll", "AllToAllV", "AllToAllW")
FROM_ROOT = calls_of("Broadcast", "Scatter", "ScatterV")
TO_ROOT = calls_of("Reduce", "Gather", "GatherV")
SPARSE = calls_of("AllToAllV", "AllToAllW") | NEIGHBOURHOOD
"""Calls with bytes for each of some ranks: nobody waits for those who have none for it."""
TOGETHER = COLLECTIVES - FROM_ROOT - TO_ROOT - SPARSE - {"MPI_Scan", "MPI_Exscan"}
"""Calls that need data of all, and end for nobody before the last has come."""
