# SPDX-License-Identifier: BSD-3-Clause
"""Communicators and call sites of a rank's trace: what its events refer to by number."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from weft.store.trace import layout
from weft.store.trace.reader import Header, Records

Ints: TypeAlias = NDArray[np.int32]


@dataclass
class Communicator:
    """A communicator as one rank knows it."""

    uid: int  # the same on all its ranks, and different for each communicator
    size: int
    rank: int  # this rank's in it
    parent: int = 0  # this rank's number of the communicator that it was made from; 0 if unknown
    inter: bool = False
    # world rank of each member that is known, by rank in it (of an intercommunicator in the other group); a range: all
    members: Mapping[int, int] | range = field(default_factory=dict[int, int])

    def known(self) -> tuple[Ints, Ints]:
        """Members that are known: their ranks in it, and in the world; two arrays of shape (members,), ranks."""
        if isinstance(self.members, range):
            return (everybody := np.arange(self.size, dtype=np.int32)), everybody
        places, ranks = np.array([*self.members.items()], np.int32).reshape(-1, 2).T
        return places, ranks

    def world_ranks(self) -> Ints:
        """World rank of each member, by rank in it, shape (size,), ranks; -1 where a torn trace does not say."""
        found = np.full(self.size, layout.NO_PEER, np.int32)
        places, ranks = self.known()
        found[places] = ranks
        return found


@dataclass
class Definitions:
    """What the definitions read so far say, by number."""

    communicators: dict[int, Communicator]
    sites: dict[int, str] = field(default_factory=dict[int, str])
    with_others: bool = False  # some communicator has processes of another program, which are in no file of this trace

    @classmethod
    def of(cls, header: Header) -> "Definitions":
        """The two communicators that every rank has."""
        world = Communicator(layout.WORLD, header.ranks, header.rank, members=range(header.ranks))
        own = Communicator(layout.SELF, 1, 0, members={0: header.rank})
        return cls({layout.WORLD: world, layout.SELF: own})

    def read(self, records: Records, ranks: int) -> None:
        """Take the definitions among records of shape (n,); sizes beyond the world's count of ranks are ignored."""
        chosen = records[np.isin(records["call"], (layout.COMMUNICATOR, layout.MEMBERS, layout.SITE))]
        for record in chosen:
            raw, place = record.tobytes()[layout.PAYLOAD : layout.RECORD_BYTES], int(record["site"])
            known, valid = self.communicators.get(int(record["comm"])), max(int(record["peer"]), 0)
            if record["call"] == layout.SITE:
                self.sites[place] = self.sites.get(place, "") + raw[:valid].decode("utf-8", "replace")
            elif record["call"] == layout.COMMUNICATOR:
                self._define(record, min(max(int(record["end_ns"]), 0), ranks))
            elif known is not None and isinstance(known.members, dict):
                several = np.frombuffer(raw, "<i4")[: min(valid, layout.MEMBERS_EACH)].tolist()
                found = {at: rank for at, rank in enumerate(several, place) if at < known.size and 0 <= rank < ranks}
                known.members.update(found)

    def _define(self, record: Any, size: int) -> None:
        number, parent, traits = int(record["comm"]), int(record["bytes"]), int(record["received"])
        self.with_others |= bool(traits & layout.WITH_OTHERS)
        uid = int(record["begin_ns"]) & (2**64 - 1)
        made = Communicator(uid, size, int(record["peer"]), parent, bool(traits & layout.BETWEEN_GROUPS))
        if traits & layout.AS_PARENT and parent in self.communicators:
            same = self.communicators[parent].members
            made.members = same if isinstance(same, range) else MappingProxyType(same)
        self.communicators[number] = made
