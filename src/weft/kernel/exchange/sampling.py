# SPDX-License-Identifier: BSD-3-Clause
"""How much a rank of the sample sort can receive; the C++ kernel (exchange/splitters.hpp) counts the same."""

import math
from dataclasses import dataclass


@dataclass(frozen=True)
class Sampling:
    """Regular sampling of n vectors over p ranks: every ``width``-th vector of each rank's sorted share is a sample.

    Attributes
    ----------
    n, ranks
        Vectors, and the ranks that share them: n / p each, the first n mod p ranks one more.
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
        """Samples of all ranks together; rank 0 holds and sorts them."""
        share, longer = divmod(self.n, self.ranks)
        return longer * ((share + 1) // self.width) + (self.ranks - longer) * (share // self.width)

    @property
    def receive_bound(self) -> int:
        """Vectors any rank can receive, whatever the keys are.

        Between two splitters lie at most ceil(total / p) samples, each standing for ``width`` vectors, and on each rank
        up to ``width`` - 1 vectors behind the last of them.
        """
        most = math.ceil(self.total / self.ranks)
        return min(self.n, self.width * most + self.ranks * (self.width - 1))
