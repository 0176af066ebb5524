# SPDX-License-Identifier: BSD-3-Clause
"""Upper bound of what a rank of the sample sort receives; the C++ kernel (exchange/splitters.hpp) computes the same."""

import math
from dataclasses import dataclass


@dataclass(frozen=True)
class Sampling:
    """Regular sampling of n vectors over p ranks: every ``width``-th vector of each rank's sorted share is a sample.

    Attributes
    ----------
    n, ranks
        Number of vectors, and of ranks: n / p vectors each, the first n mod p ranks one more.
    """

    n: int
    ranks: int

    @property
    def width(self) -> int:
        """Vectors from one sample to the next."""
        asked = max(self.ranks, min(16 * self.ranks, 1024))
        return max(1, math.ceil(math.ceil(self.n / self.ranks) / asked))

    @property
    def total(self) -> int:
        """Number of samples of all ranks; rank 0 collects and sorts them."""
        share, longer = divmod(self.n, self.ranks)
        return longer * ((share + 1) // self.width) + (self.ranks - longer) * (share // self.width)

    @property
    def receive_bound(self) -> int:
        """Most vectors that any rank can receive, for any keys.

        Between two splitters lie at most ceil(total / p) samples, each of which represents ``width`` vectors, and on
        each rank up to ``width`` - 1 vectors after the last of them.
        """
        most = math.ceil(self.total / self.ranks)
        return min(self.n, self.width * most + self.ranks * (self.width - 1))
