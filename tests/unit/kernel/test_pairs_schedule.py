# SPDX-License-Identifier: BSD-3-Clause
"""The tournament of pairs (METHOD 26)."""

from collections.abc import Iterator

import numpy as np
import pytest

from weft.kernel.tournament import PairSchedule


def shapes(p: int) -> Iterator[list[int]]:
    """Node of each rank for several ways in which p ranks sit on nodes."""
    if p <= 64:  # one node, and one rank a node, are the circle method alone
        yield [0] * p
        yield list(range(p))
    for per_node in (2, 3, 16) if p <= 64 else (2 + p % 15,):
        if per_node < p:
            yield [rank // per_node for rank in range(p)]  # block; the last node may have fewer
    nodes = max(2, p // 5)
    if p >= nodes:
        yield [rank % nodes for rank in range(p)]  # cyclic
    if p > 4:
        yield [0, *sorted(int(node) for node in np.sqrt(np.arange(1, p)))]  # nodes of ever more ranks


def check(node_of: list[int]) -> PairSchedule:
    """Assert that it is a tournament, and that no round mixes pairs within a node and between nodes."""
    p, node = len(node_of), np.array(node_of)
    schedule = PairSchedule(node_of)
    met = np.zeros((p, p), int)
    for number in range(schedule.rounds):
        low, high = schedule.pairs(number).T
        assert (low < high).all()
        busy = np.bincount(np.concatenate([low, high]), minlength=p)
        assert busy.max(initial=0) <= 1, "somebody meets twice in a round"
        assert ((node[low] == node[high]) == schedule.is_within(number)).all(), "a round mixes classes"
        met[low, high] += 1
    assert (met[np.triu_indices(p, 1)] == 1).all(), "a pair meets never, or twice"
    return schedule


@pytest.mark.parametrize("first", range(1, 201, 20))
def test_each_pair_meets_once_for_every_p_up_to_200_and_several_shapes(first: int) -> None:
    for p in range(first, first + 20):
        for node_of in shapes(p):
            check(node_of)


@pytest.mark.parametrize(("nodes", "ranks"), [(1, 8), (2, 1), (4, 2), (2, 4), (5, 2), (3, 4), (7, 6), (64, 1), (9, 16)])
def test_an_even_number_of_ranks_needs_p_minus_1_rounds_without_a_bye(nodes: int, ranks: int) -> None:
    schedule = check([rank // ranks for rank in range(nodes * ranks)])
    p = nodes * ranks
    assert schedule.rounds == p - 1
    assert all(len(schedule.pairs(number)) == p // 2 for number in range(schedule.rounds))


@pytest.mark.parametrize(
    ("nodes", "ranks", "rounds"), [(1, 7, 7), (2, 3, 6), (4, 5, 20), (3, 1, 3), (3, 3, 12), (5, 1, 5)]
)
def test_odd_counts_take_a_bye(nodes: int, ranks: int, rounds: int) -> None:
    assert check([rank // ranks for rank in range(nodes * ranks)]).rounds == rounds


def test_the_order_of_nodes_does_not_matter_to_who_meets() -> None:
    check([2, 0, 1, 1, 0, 2, 2, 1, 0, 0])


def test_one_rank_has_nobody_to_meet() -> None:
    assert PairSchedule([0]).rounds == 0


def test_the_rounds_are_those_of_the_kernel() -> None:
    """The same rounds and the same checksum of 120 shapes stand in native/tests/pairs/test_pair_schedule.cpp."""
    schedule = PairSchedule([0, 0, 1, 1])
    assert [schedule.pairs(n).tolist() for n in range(3)] == [[[0, 2], [1, 3]], [[0, 3], [1, 2]], [[0, 1], [2, 3]]]
    checksum = 0xCBF29CE484222325
    for ranks in range(1, 25):
        for per_node in (1, 2, 3, 4, 6):
            schedule = PairSchedule([rank // per_node for rank in range(ranks)])
            numbers = [schedule.rounds]
            for n in range(schedule.rounds):
                numbers += [-1, *schedule.pairs(n).ravel().tolist()]
            for number in numbers:
                checksum = ((checksum ^ (number & 0xFFFFFFFF)) * 0x100000001B3) % 2**64
    assert checksum == 0xDAF37DAB9F11B5A3
