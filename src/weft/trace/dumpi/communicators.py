# SPDX-License-Identifier: BSD-3-Clause
"""Who is in which communicator: DUMPI has each rank's arguments only, so those of all ranks are matched."""

from collections.abc import Iterable
from dataclasses import dataclass, field

from weft.trace.dumpi.text import Call

MAKING = {
    "MPI_Comm_dup": "oldcomm", "MPI_Comm_split": "oldcomm", "MPI_Comm_create": "oldcomm", "MPI_Cart_create": "oldcomm",
    "MPI_Graph_create": "oldcomm", "MPI_Cart_sub": "oldcomm",
}  # fmt: skip
"""Calls that make communicators of one, and how they call it."""
NULL = "MPI_COMM_NULL"
NAMED = {"MPI_COMM_WORLD": 1, "MPI_COMM_SELF": 2}


@dataclass(frozen=True)
class Making:
    """A call that makes a communicator, as one rank knows it."""

    name: str
    old: int
    new: int
    has_new: bool
    color: int
    key: int


@dataclass
class Communicators:
    """The communicators of all ranks.

    Attributes
    ----------
    members
        World ranks of each communicator by its number; 1 is the world.
    made
        For each rank the number of what each of its making calls made; None where it got none, or it is not known.
    """

    members: dict[int, tuple[int, ...]]
    made: list[list[int | None]] = field(default_factory=list[list[int | None]])


def making_of(call: Call) -> Making | None:
    """What a call makes; None if it makes no communicator."""
    if call.name not in MAKING:
        return None
    has_new = call.word("newcomm") != NULL and "newcomm" in call.arguments
    old = NAMED.get(call.word(MAKING[call.name]), -call.number(MAKING[call.name]))
    return Making(call.name, old, -call.number("newcomm"), has_new, call.number("color"), call.number("key"))


def matched(each: Iterable[list[Making]]) -> Communicators:
    """Match the making calls of all ranks: the k-th on a communicator is the same call on all its members.

    Parameters
    ----------
    each
        The making calls of each rank, in order.
    """
    makings = list(each)
    ranks = len(makings)
    found = Communicators({1: tuple(range(ranks)), 2: ()}, [[] for _ in makings])
    names: list[dict[int, int]] = [{1: 1, 2: 2} for _ in makings]
    arrived: dict[int, dict[int, Making]] = {}
    waits = [False] * ranks
    ready = list(range(ranks))
    while ready:
        rank = ready.pop()
        done = len(found.made[rank])
        if waits[rank] or done == len(makings[rank]):
            continue
        making = makings[rank][done]
        old = names[rank].get(making.old, 0)
        if old in (0, 2):  # of one rank alone, or of one that is not known
            found.made[rank].append(2 if old == 2 and making.has_new else None)
            if making.has_new:
                names[rank][making.new] = 2 if old == 2 else 0
            ready.append(rank)
            continue
        waits[rank] = True
        arrived.setdefault(old, {})[rank] = making
        if len(arrived[old]) == len(found.members[old]):
            _make(found, names, arrived.pop(old), found.members[old])
            for member in found.members[old]:
                waits[member] = False
                ready.append(member)
    for rank, own in enumerate(found.made):  # others never made theirs
        own += [None] * (len(makings[rank]) - len(own))
    return found


def _make(
    found: Communicators, names: list[dict[int, int]], together: dict[int, Making], members: tuple[int, ...]
) -> None:
    """One call on all members of a communicator: those with a new one of the same colour share it."""
    colors: dict[int, list[tuple[int, int, int]]] = {}
    for place, rank in enumerate(members):
        making = together[rank]
        if making.has_new:
            split = making.name == "MPI_Comm_split"
            order = (making.key if split else 0, place, rank)
            colors.setdefault(making.color if split else 0, []).append(order)
    numbers: dict[int, int] = {}
    sub = any(making.name == "MPI_Cart_sub" for making in together.values())  # which ranks share one is not said
    for own in () if sub else colors.values():
        number = max(found.members) + 1
        found.members[number] = tuple(rank for _, _, rank in sorted(own))
        numbers |= dict.fromkeys(found.members[number], number)
    for rank, making in together.items():
        found.made[rank].append(numbers.get(rank))
        if making.has_new:
            names[rank][making.new] = numbers.get(rank, 0)
