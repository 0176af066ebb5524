# SPDX-License-Identifier: BSD-3-Clause
r"""Whether the time that a hypervisor took could have made a culprit (METHOD 20).

To make a median longer, theft has to fall on half of the values that it is of. A culprit's factor f is a median over
samples, launches and pairs. So in each of half of the launches, theft has to be at least a quarter of what its pairs
took too long: on half of the samples of half of the pairs. Of the time of a launch that excess is

.. math:: e = \frac{q (f/f_0 - 1)}{1 + q (f/f_0 - 1)}

where q is the share of its pairs among all, over the number of ways (sizes times modes), each of which has the same
time, and f_0 the factor from which on its kind is told. So a culprit stands if less than e / 4 was stolen in so many
launches that the median over launches is theirs.
"""

from collections.abc import Iterable, Sequence
from dataclasses import replace

from weft.analyse.checks import stolen_share
from weft.analyse.pairs.culprit import Culprit, Kind
from weft.analyse.pairs.decide import LEAST_FACTOR as OF_NODES
from weft.analyse.pairs.refine import LEAST_FACTOR as OF_RANKS
from weft.analyse.tables.pairs import PAIR_FACTOR
from weft.store.rows import MeasuredRow

#: Kinds whose `Culprit.pairs` are pairs of nodes; those of the others are pairs of ranks.
NODE_KINDS: frozenset[Kind] = frozenset({"node", "switch", "cable", "link", "leaves"})
HALF_OF_HALF = 0.25


def stolen(measured: Iterable[MeasuredRow], launches: Sequence[str]) -> float:
    """The share of its time that a launch lost to the hypervisor, in so many that a median over launches is theirs.

    Parameters
    ----------
    measured
        The table of cells and launches.
    launches
        Ids of the launches that count; of each, the cell that lost most.
    """
    most = dict.fromkeys(launches, 0.0)
    for row in measured:
        if row["launch_id"] in most:
            most[row["launch_id"]] = max(most[row["launch_id"]], stolen_share(row))
    shares = sorted(most.values(), reverse=True)
    return shares[(len(shares) + 1) // 2 - 1] if shares else 0.0


def doubted(culprit: Culprit, share: float, nodes: int, pairs: int, ways: int) -> Culprit:
    """The culprit, marked as doubted if theft could have made it.

    Parameters
    ----------
    culprit
        A cause of slow pairs.
    share
        The result of `stolen`.
    nodes
        Number of nodes.
    pairs
        Number of pairs of ranks that were measured in each way.
    ways
        Number of combinations of message size and mode.
    """
    every = nodes * (nodes - 1) if culprit.kind in NODE_KINDS else pairs
    told = OF_NODES if culprit.kind in NODE_KINDS else PAIR_FACTOR if culprit.kind == "pair" else OF_RANKS
    longer = culprit.pairs / (every * ways) * max(0.0, culprit.factor / told - 1) if every else 0.0
    if share <= HALF_OF_HALF * longer / (1 + longer):
        return culprit
    words = f"in doubt, since the hypervisor took {100 * share:.1f} % of the time"
    return replace(culprit, doubted=True, detail=f"{culprit.detail}; {words}" if culprit.detail else words)
