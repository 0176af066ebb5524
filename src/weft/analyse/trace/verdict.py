# SPDX-License-Identifier: BSD-3-Clause
r"""What a better network, algorithm, placement or balance would change at most.

Each number is a bound, not a forecast. With the computing and the file calls of every rank as they were ($c_r$, less
the time for which the rank had no processor), no network makes the program faster than its busiest rank, nor than the
ranks that share some processors can compute there: with $k_g$ processors of a group $g$ it saves at most
$T - \max(\max_r c_r, \max_g \sum_{r \in g} c_r / k_g)$ (an ideal network, as in Dimemas), and so does a better
placement, which may spare any message its way. An all-to-all moves data from its last arrival to its last end;
a faster algorithm can save that time and no more.

Ranks that compute equally long may still wait for each other at every step, so the totals $c_r$ bound no imbalance.
With $m_r$ the time for which a rank surely moved data, $\sum_r (c_r + m_r)$ stays as it is however the computing is
shared, so no more is saved than the mean of $T - c_r - m_r$; and nobody waited longer for computing than $\sum_r c_r$.
"""

from collections.abc import Mapping, Sequence

from weft.analyse.tables.traces import LateRow, VerdictRow
from weft.format import format_seconds

LEAST = 0.005
"""A remedy that saves less than this share is none."""


def verdict(
    ranks: Sequence[LateRow],
    all_to_all_s: float,
    moved_s: Mapping[int, float],
    seconds: float,
    cores: Sequence[tuple[Sequence[int], int]] = (),
) -> list[VerdictRow]:
    """Rows of VERDICT, the one that could save most first."""
    if not ranks or seconds <= 0:
        return []
    computing = [row["compute_s"] + row["file_s"] for row in ranks]
    needs = {row["rank"]: max(row["compute_s"] + row["file_s"] - (row["lost_s"] or 0.0), 0.0) for row in ranks}
    together = [sum(needs.get(rank, 0.0) for rank in group) / max(number, 1) for group, number in cores]
    busiest, mean = max([*needs.values(), *together]), sum(computing) / len(computing)
    moving = sum(moved_s.get(row["rank"], 0.0) for row in ranks) / len(ranks)
    ideal = max(seconds - busiest, 0.0)
    balanced = min(seconds - mean - moving, sum(computing))
    nodes = len({row["node"] for row in ranks})
    way = "a better network" if nodes > 1 else "a better way through the node's memory"
    given = [
        (way, ideal, f"the busiest rank, or core, computes for {format_seconds(busiest)}, however fast messages are"),
        (
            "an even share of computing", balanced,
            f"a rank computes for {format_seconds(mean)} and moves data for {format_seconds(moving)} in the mean, "
            "whoever comes late",
        ),
        ("a better all-to-all", min(all_to_all_s, ideal), "from the last arrival to the last end of each all-to-all"),
        ("a better placement", ideal if nodes > 1 else 0.0, "no message goes faster than by a better network"),
    ]  # fmt: skip
    rows = [VerdictRow(remedy=name, saves_s=saves, seconds=seconds, why=why) for name, saves, why in given]
    return sorted(
        (row for row in rows if row["saves_s"] >= LEAST * seconds), key=lambda row: -round(row["saves_s"] * 1e9)
    )
