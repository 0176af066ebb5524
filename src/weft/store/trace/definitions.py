# SPDX-License-Identifier: BSD-3-Clause
"""Communicators and call sites of a rank's trace: what its events refer to by number."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from weft.store.trace.layout import (
    AS_PARENT,
    BETWEEN_GROUPS,
    COMMUNICATOR,
    MEMBERS,
    MEMBERS_EACH,
    NO_PEER,
    PAYLOAD,
    RECORD_BYTES,
    SELF,
    SITE,
    WITH_OTHERS,
    WORLD,
)
from weft.store.trace.reader import Header, Records


@dataclass
class Communicator:
    """A communicator as one rank knows it.

    Attributes
    ----------
    uid
        The same on all its ranks, and different for each communicator.
    rank
        This rank's in it.
    parent
        This rank's number of the communicator that it was made from; 0 if unknown.
    members
        World rank of each member, by rank in it; of an intercommunicator those of the other group.
    """

    uid: int
    size: int
    rank: int
    parent: int = 0
    inter: bool = False
    members: dict[int, int] = field(default_factory=dict[int, int])

    def world_ranks(self) -> list[int]:
        """World rank of each member, by rank in it; -1 where a torn trace does not say."""
        return [self.members.get(rank, NO_PEER) for rank in range(self.size)]


@dataclass
class Definitions:
    """What the definitions read so far say, by number.

    Attributes
    ----------
    with_others
        Some communicator has processes of another program, which are in no file of this trace.
    """

    communicators: dict[int, Communicator]
    sites: dict[int, str] = field(default_factory=dict[int, str])
    with_others: bool = False

    @classmethod
    def of(cls, header: Header) -> "Definitions":
        """The two communicators that every rank has."""
        world = Communicator(WORLD, header.ranks, header.rank, members={rank: rank for rank in range(header.ranks)})
        own = Communicator(SELF, 1, 0, members={0: header.rank})
        return cls({WORLD: world, SELF: own})

    def read(self, records: Records, ranks: int) -> None:
        """Take the definitions among records of shape (n,); sizes beyond the world's count of ranks are ignored."""
        chosen = records[np.isin(records["call"], (COMMUNICATOR, MEMBERS, SITE))]
        for record in chosen:
            raw = record.tobytes()[PAYLOAD:RECORD_BYTES]
            if record["call"] == SITE:
                name = self.sites.get(int(record["site"]), "")
                self.sites[int(record["site"])] = name + raw[: max(int(record["peer"]), 0)].decode("utf-8", "replace")
            elif record["call"] == COMMUNICATOR:
                size = min(max(int(record["end_ns"]), 0), ranks)
                self._define(record, size)
            elif found := self.communicators.get(int(record["comm"])):
                several = np.frombuffer(raw, "<i4")[: min(max(int(record["peer"]), 0), MEMBERS_EACH)]
                first = int(record["site"])
                found.members |= {
                    first + place: int(rank)
                    for place, rank in enumerate(several)
                    if first + place < found.size and 0 <= rank < ranks
                }

    def _define(self, record: Any, size: int) -> None:
        number, parent, traits = int(record["comm"]), int(record["bytes"]), int(record["received"])
        self.with_others |= bool(traits & WITH_OTHERS)
        uid = int(record["begin_ns"]) & (2**64 - 1)
        made = Communicator(uid, size, int(record["peer"]), parent, bool(traits & BETWEEN_GROUPS))
        if traits & AS_PARENT and parent in self.communicators:
            made.members = self.communicators[parent].members
        self.communicators[number] = made
