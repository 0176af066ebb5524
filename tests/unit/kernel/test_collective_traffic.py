# SPDX-License-Identifier: BSD-3-Clause
"""Least traffic of collectives, against what real algorithms move."""

from collections.abc import Iterator
from itertools import combinations

import pytest

from weft.kernel.collective.traffic import CollectiveTraffic

BLOCK = 1000
Message = tuple[int, int, int]  # from, to, bytes


def tree(ranks: int, root: int) -> Iterator[Message]:
    """A binomial tree from the root, as a broadcast goes."""
    step = 1
    while step < ranks:
        for place in range(min(step, ranks - step)):
            yield (root + place) % ranks, (root + place + step) % ranks, BLOCK
        step *= 2


def messages(collective: str, ranks: int, root: int) -> list[Message]:
    """What an algorithm that is good for bandwidth sends."""
    others = [rank for rank in range(ranks) if rank != root]
    ring = [(rank, (rank + 1) % ranks) for rank in range(ranks)]
    if collective == "bcast":
        return list(tree(ranks, root))
    if collective == "reduce":
        return [(to, source, size) for source, to, size in tree(ranks, root)]
    if collective == "allreduce":
        return [*messages("reduce", ranks, 0), *messages("bcast", ranks, 0)]
    if collective == "scatter":
        return [(root, rank, BLOCK) for rank in others]
    if collective == "gather":
        return [(rank, root, BLOCK) for rank in others]
    if collective in ("allgather", "reduce_scatter"):
        return [(source, to, BLOCK * (ranks - 1)) for source, to in ring]
    return [(source, to, BLOCK) for source in range(ranks) for to in range(ranks) if source != to]


def busier_way(sent: list[Message], inside: set[int]) -> int:
    """Bytes over the border of a set of ranks, in the direction that carries more."""
    out = sum(size for source, to, size in sent if source in inside and to not in inside)
    back = sum(size for source, to, size in sent if source not in inside and to in inside)
    return max(out, back)


COLLECTIVES = ("bcast", "reduce", "allreduce", "scatter", "gather", "allgather", "reduce_scatter", "alltoall")


@pytest.mark.parametrize("counts", [(2, 2), (1, 1, 1), (4, 4, 4, 4), (4, 2), (3, 3, 1)])
@pytest.mark.parametrize("collective", COLLECTIVES)
def test_no_algorithm_moves_less_over_its_busiest_node(collective: str, counts: tuple[int, ...]) -> None:
    ranks, nodes = sum(counts), len(counts)
    node_of = [node for node, count in enumerate(counts) for _ in range(count)]
    traffic = CollectiveTraffic(collective, BLOCK, ranks, counts)
    for root in range(ranks):
        sent = messages(collective, ranks, root)
        for size in range(1, nodes):
            groups = list(combinations(range(nodes), size))
            cuts = [busier_way(sent, {rank for rank in range(ranks) if node_of[rank] in group}) for group in groups]
            least = [traffic.leaving(group, nodes, max(counts)) for group in groups]
            assert max(least) <= max(cuts), (root, size)


def test_on_one_node_every_rank_but_one_is_given_what_it_lacks() -> None:
    def staying(collective: str, in_place: bool = False) -> int:
        return CollectiveTraffic(collective, BLOCK, 4, in_place=in_place).staying(1, 4)

    assert staying("bcast") == staying("reduce") == staying("allreduce") == 3 * BLOCK
    assert staying("scatter") == staying("gather") == 4 * BLOCK
    assert staying("scatter", in_place=True) == 3 * BLOCK
    assert staying("alltoall") == staying("allgather") == 16 * BLOCK
    assert staying("alltoall", in_place=True) == 12 * BLOCK
    assert staying("reduce_scatter") == 12 * BLOCK


def test_unequal_blocks_count_as_the_lightest_that_can_be() -> None:
    def leaving(pattern: str) -> int:
        return CollectiveTraffic("alltoallv", 800, 4, pattern=pattern).leaving([0], 2, 2)

    assert leaving("equal") == 2 * 2 * 800
    assert leaving("linear") == 2 * (200 + 400)
    assert leaving("heavy") == 2 * 2 * 100
    assert leaving("matrix") == 0


def test_a_rank_alone_has_nothing_to_move_but_its_own_block() -> None:
    alone = CollectiveTraffic("bcast", BLOCK, 1)
    assert (alone.rounds, alone.messages, alone.staying(1, 1), alone.leaving([0], 1, 1)) == (0, 0, 0, 0)
    assert CollectiveTraffic("alltoall", BLOCK, 1).staying(1, 1) == BLOCK
