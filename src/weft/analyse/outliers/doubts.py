# SPDX-License-Identifier: BSD-3-Clause
r"""Whether CPU steal, or too few samples, could have made an outlier (METHOD 20).

To make a median longer, steal has to fall on half of the values that it is of. An outlier's factor f is a median over
samples, launches and pairs. So in each of half of the launches, steal has to be at least a quarter of what its pairs
took too long: on half of the samples of half of the pairs. Of the time of a launch that excess is

.. math:: e = \frac{q (f/f_0 - 1)}{1 + q (f/f_0 - 1)}

where q is the share of its pairs among those measured, over the number of ways (sizes times modes), each of which has
the same time, and f_0 the least reported factor of its kind. So an outlier is valid if less than e / 4 was steal in
so many launches that the median over launches is theirs; or else if each of several launches shows it by itself
(`weft.analyse.pairs.make.found_in_every_launch`): whatever took the time would have had to choose the same pairs.

A single pair is in doubt, too, if one of its directions has fewer samples than a median may rest on (METHOD 8): its
first messages pay for windows that open.
"""

from collections.abc import Iterable, Sequence, Set
from dataclasses import replace

import numpy as np

from weft.analyse.checks import share_of_steal
from weft.analyse.outliers.outlier import Kind, Outlier
from weft.analyse.outliers.rule import LEAST_FACTOR, LEAST_OWN_FACTOR
from weft.analyse.pairs.pair_times import PairTimes
from weft.analyse.tables.pairs import PAIR_FACTOR
from weft.store.rows import MeasuredRow

#: Kinds whose `Outlier.pairs` are pairs of nodes; those of the others are pairs of ranks.
NODE_KINDS: frozenset[Kind] = frozenset({"node", "switch", "cable", "link", "leaves"})
HALF_OF_HALF = 0.25
#: Fewer samples than this, over all launches, are too few for a single pair.
FEWEST = 10

#: Source, target, bytes and mode of a pair.
Way = tuple[int, int, int, str]


def typical_steal(measured: Iterable[MeasuredRow], launches: Sequence[str]) -> float:
    """The share of its time that a launch lost to the hypervisor, in so many that a median over launches is theirs."""
    most = dict.fromkeys(launches, 0.0)
    for row in measured:
        if row["launch_id"] in most:
            most[row["launch_id"]] = max(most[row["launch_id"]], share_of_steal(row))
    shares = sorted(most.values(), reverse=True)
    return shares[(len(shares) + 1) // 2 - 1] if shares else 0.0


def doubt_by_steal(outlier: Outlier, share: float, node_pairs: int, pairs: int, ways: int) -> Outlier:
    """The outlier, marked as doubted if CPU steal could have made it; of so many measured pairs of nodes and ranks."""
    every = node_pairs if outlier.kind in NODE_KINDS else pairs
    least = LEAST_FACTOR if outlier.kind in NODE_KINDS else PAIR_FACTOR if outlier.kind == "pair" else LEAST_OWN_FACTOR
    longer = outlier.pairs / (every * ways) * max(0.0, outlier.factor / least - 1) if every else 0.0
    if share <= HALF_OF_HALF * longer / (1 + longer):
        return outlier
    return _in_doubt(outlier, f"since the hypervisor took {100 * share:.1f} % of the time")


def list_few_samples(ways: Iterable[PairTimes], outliers: Iterable[Outlier]) -> frozenset[Way]:
    """The ways of single pairs among the outliers that have fewer than `FEWEST` samples."""
    ranks = sorted({rank for each in outliers if each.kind == "pair" for rank in each.indices})
    found: set[Way] = set()
    for times in ways if ranks else ():
        ends, of = times.ends, np.zeros(times.ends.places.ranks, bool)
        of[ranks] = True
        samples = np.add.reduce(list(times.each("samples", np.int64)))
        few = np.flatnonzero(of[ends.source] & of[ends.target] & (samples < FEWEST))
        found |= {(int(ends.source[row]), int(ends.target[row]), *times.way) for row in few.tolist()}
    return frozenset(found)


def doubt_by_samples(outlier: Outlier, few: Set[Way]) -> Outlier:
    """A single pair, marked as doubted if it was seen in fewer than `FEWEST` samples."""
    if outlier.kind != "pair" or outlier.doubted:
        return outlier
    low, high = outlier.indices
    ends = ((low, high), (high, low))
    seen_in_few = any((*end, seen.bytes, seen.mode) in few for end in ends for seen in outlier.sightings)
    return _in_doubt(outlier, f"with fewer than {FEWEST} samples") if seen_in_few else outlier


def _in_doubt(outlier: Outlier, why: str) -> Outlier:
    detail = f"in doubt, {why}"
    return replace(outlier, doubted=True, detail=f"{outlier.detail}; {detail}" if outlier.detail else detail)
