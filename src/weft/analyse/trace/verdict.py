# SPDX-License-Identifier: BSD-3-Clause
r"""What a better network, algorithm, placement or balance would change at most.

Each number is a bound, not a forecast. With the computing of every rank as it was, no network makes the program faster
than its busiest rank, $\max_r c_r$: all remedies together save at most $T - \max_r c_r$ (an ideal network, as in
Dimemas). An all-to-all moves data from its last arrival to its last end; a faster algorithm can save that time and no
more. Placement can save what calls that leave a node spend moving.
"""

from collections.abc import Sequence

from weft.analyse.tables.traces import LateRow, VerdictRow
from weft.format import format_seconds

LEAST = 0.005
"""A remedy that saves less than this share is none."""


def verdict(ranks: Sequence[LateRow], all_to_all_s: float, between_nodes_s: float, seconds: float) -> list[VerdictRow]:
    """Rows of VERDICT, the one that could save most first.

    Parameters
    ----------
    ranks
        The table of late ranks.
    all_to_all_s
        Time between last arrival and last end of all blocking all-to-alls, one after the other.
    between_nodes_s
        Largest time of a rank in moving data that leaves its node.
    seconds
        From the first call of the first rank to the last end of the last.
    """
    if not ranks or seconds <= 0:
        return []
    computing = [row["compute_s"] for row in ranks]
    busiest = max(computing)
    ideal = max(seconds - busiest, 0.0)
    balanced = busiest - sum(computing) / len(computing)
    nodes = len({row["node"] for row in ranks})
    outside = "the ranks were on one node" if nodes == 1 else "what a rank at most spent moving data off its node"
    given = [
        ("a better network", ideal, f"the busiest rank computes for {format_seconds(busiest)}, whatever the network"),
        ("an even share of computing", balanced, "the busiest rank would come down to the mean of all ranks"),
        ("a better all-to-all", min(all_to_all_s, ideal), "from the last arrival to the last end of each all-to-all"),
        ("a better placement", min(between_nodes_s, ideal), outside),
    ]
    rows = [VerdictRow(remedy=name, saves_s=saves, seconds=seconds, why=why) for name, saves, why in given]
    return sorted((row for row in rows if row["saves_s"] >= LEAST * seconds), key=lambda row: -row["saves_s"])
