# SPDX-License-Identifier: BSD-3-Clause
"""Which ranks of a launch measure a cell."""

from typing import Literal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from weft.errors import StudyError
from weft.kernel.jobs import node_of, rank_at, team_of, team_values

Order = Literal["block", "cyclic"]


def test_all_ranks_take_part_where_nothing_is_said() -> None:
    team = team_of({}, nodes=3, ranks_per_node=2, order="block")
    assert (team.ranks, team.counts, team.places) == (6, (2, 2, 2), (0, 1, 2))
    assert team_values({}) == {}


def test_the_first_ranks_fill_nodes_in_block_order_and_go_round_in_cyclic_order() -> None:
    block = team_of({"ranks": 4}, nodes=4, ranks_per_node=4, order="block")
    assert (block.counts, block.places) == ((4,), (0,))
    cyclic = team_of({"ranks": 4}, nodes=4, ranks_per_node=4, order="cyclic")
    assert (cyclic.counts, cyclic.places) == ((1, 1, 1, 1), (0, 1, 2, 3))
    uneven = team_of({"ranks": 6}, nodes=4, ranks_per_node=4, order="block")
    assert uneven.counts == (4, 2)
    assert len(set(uneven.counts)) > 1
    assert team_values({"ranks": 6}) == {"ranks": 6}


def test_members_keep_their_order_and_name_their_nodes_once() -> None:
    team = team_of({"members": [9, 0]}, nodes=3, ranks_per_node=4, order="block")
    assert (team.members, team.counts, team.places) == ((9, 0), (1, 1), (2, 0))
    assert team_values({"members": [9, 0]}) == {"members": [9, 0]}


def test_more_ranks_than_the_launch_has_are_refused() -> None:
    with pytest.raises(StudyError, match="of a launch of 4"):
        team_of({"ranks": 5}, nodes=2, ranks_per_node=2, order="block")
    with pytest.raises(StudyError, match="up to number 4"):
        team_of({"members": [0, 4]}, nodes=2, ranks_per_node=2, order="block")


@settings(deadline=None)
@given(st.integers(1, 9), st.integers(1, 9), st.sampled_from(["block", "cyclic"]))
def test_a_rank_is_on_the_node_that_says_so(nodes: int, each: int, order: Order) -> None:
    seats = {(node, local) for node in range(nodes) for local in range(each)}
    ranks = {rank_at(node, local, nodes, each, order) for node, local in seats}
    assert ranks == set(range(nodes * each))
    for node, local in seats:
        assert node_of(rank_at(node, local, nodes, each, order), nodes, each, order) == node
