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
from typing import NamedTuple

from weft.analyse.tables.traces import BoundedRemedy, LateRow, VerdictRow

LEAST = 0.005
"""A remedy that saves less than this share is none."""


class Bound(NamedTuple):
    """What a remedy saves at most, and what is left of computing and transfers, all in s."""

    remedy: BoundedRemedy
    saves_s: float
    computing_s: float
    moving_s: float = 0.0


def busiest_s(ranks: Sequence[LateRow], cores: Sequence[tuple[Sequence[int], int]] = ()) -> float:
    """The computing of the busiest rank, or of the ranks that share some cores there: no network is faster."""
    needs = {row["rank"]: max(row["compute_s"] + row["file_s"] - (row["lost_s"] or 0.0), 0.0) for row in ranks}
    together = [sum(needs.get(rank, 0.0) for rank in group) / max(number, 1) for group, number in cores]
    return max([*needs.values(), *together], default=0.0)


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
    busiest, mean = busiest_s(ranks, cores), sum(computing) / len(computing)
    moving = sum(moved_s.get(row["rank"], 0.0) for row in ranks) / len(ranks)
    ideal = max(seconds - busiest, 0.0)
    several = len({row["node"] for row in ranks}) > 1
    given = [
        Bound("network" if several else "memory", ideal, busiest),
        Bound("balance", min(seconds - mean - moving, sum(computing)), mean, moving),
        Bound("all-to-all", min(all_to_all_s, ideal), busiest),
        Bound("placement", ideal if several else 0.0, busiest),
    ]
    rows = [VerdictRow(seconds=seconds, **each._asdict()) for each in given if each.saves_s >= LEAST * seconds]
    return sorted(rows, key=lambda row: -round(row["saves_s"] * 1e9))
