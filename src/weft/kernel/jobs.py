# SPDX-License-Identifier: BSD-3-Clause
"""The two jobs of a launch: the call of one, the traffic of the other, and who sends to whom in both."""

from collections.abc import Sequence
from dataclasses import dataclass

from weft.kernel.sizes import op_name

BURSTS = 2  # of traffic at full strength, under way at a time
BESIDE = "+"  # between a call and the traffic beside it, in the names of operations


def pairs_of(pattern: str, ranks: int) -> list[tuple[int, int]]:
    """Sender and receiver of each message of a pattern (``native/measure/interference/traffic.hpp``)."""
    half = ranks // 2
    if pattern in ("alltoall", "allreduce", "exchange"):
        return [(a, b) for a in range(ranks) for b in range(ranks) if a != b]
    if pattern == "incast":
        return [(other, 0) for other in range(1, ranks)]
    if pattern == "bcast":
        return [(0, other) for other in range(1, ranks)]
    if pattern == "shift":
        return [(a, (a + half) % ranks) for a in range(ranks)] if half else []
    return [(a, a + half) for a in range(half)]


def count_pairs(pattern: str, ranks: int) -> int:
    """How many messages `pairs_of` lists, without listing them."""
    return ranks * (ranks - 1) if pattern in ("alltoall", "allreduce", "exchange") else ranks


def word_of(aggressor: str, percent: int) -> str:
    """Traffic with its strength, as operations have it: ``incast``, ``incast.25``."""
    return aggressor if percent == 100 else f"{aggressor}.{percent}"


def read_word(word: str) -> tuple[str, int]:
    """The inverse of `word_of`."""
    aggressor, _, percent = word.partition(".")
    return aggressor, int(percent or 100)


@dataclass(frozen=True)
class Jobs:
    """The two jobs of a cell, with ranks of the launch: the call of one is measured beside the other's traffic."""

    victim: str
    place: str
    size: int
    measuring: Sequence[int]
    beside: Sequence[int]
    words: Sequence[str]  # kinds of traffic
    at_once: bool  # whether bytes decide the time of the call, and all of its messages begin at once
    depth: int = 1  # messages of the call under way between two ranks
    burst: int = 1  # messages of traffic from a rank to each of its peers

    def depths(self, word: str) -> tuple[int, int]:
        """Messages under way between two ranks: of the call, and of a kind of traffic."""
        return self.depth, self.burst * (BURSTS if read_word(word)[1] == 100 else 1)

    @property
    def alone(self) -> str:
        """The operation of the call alone."""
        return op_name(self.victim, self.size)

    @property
    def beside_calls(self) -> dict[str, str]:
        """The operation beside each kind of traffic, by its word."""
        return {word: op_name(self.victim + BESIDE + word, self.size) for word in self.words}

    @property
    def pairs(self) -> list[tuple[int, int]]:
        """Sender and receiver of the call's messages; a ping-pong's come back."""
        found = pairs_of(self.victim, len(self.measuring))
        both = found + [(b, a) for a, b in found] if self.victim == "pingpong" else found
        return [(self.measuring[a], self.measuring[b]) for a, b in both]

    def pairs_beside(self, word: str) -> list[tuple[int, int]]:
        """Sender and receiver of the messages of a kind of traffic."""
        return [(self.beside[a], self.beside[b]) for a, b in pairs_of(read_word(word)[0], len(self.beside))]
