# SPDX-License-Identifier: BSD-3-Clause
"""Placements: the heuristic beside all sets, other jobs, words for the scheduler."""

import json
from itertools import combinations

import numpy as np
import pytest

import weft.route.place as module
from made.routes import routes, tree
from weft.errors import FabricError
from weft.route.place import place, placement_tree, scheduler_words
from weft.route.routes import all_to_all


@pytest.mark.parametrize(
    ("hosts", "leaf", "up", "count"),
    [
        (12, 4, 1, 4),
        (10, 5, 2, 3),
        pytest.param(12, 4, 2, 5, marks=pytest.mark.long),
        pytest.param(16, 4, 2, 6, marks=pytest.mark.long),
    ],
)
def test_the_search_finds_what_looking_at_all_sets_finds(
    hosts: int, leaf: int, up: int, count: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = routes(tree(hosts, leaf, up))
    exact = place(found, count)
    assert exact.exact
    monkeypatch.setattr(module, "EXHAUSTIVE", 0)
    searched = place(found, count)
    assert not searched.exact
    assert searched.best.key == exact.best.key
    assert searched.worst.all_to_all == exact.worst.all_to_all
    assert searched.bound <= exact.best.all_to_all
    assert exact.worst.all_to_all <= searched.limit


@pytest.mark.parametrize("work", [1, 10**9])
def test_times_of_swapped_sets_are_those_of_whole_all_to_alls(work: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """A set was followed through the tables of all hosts for each swap: over 160 CPU-s at 11,664 hosts."""
    monkeypatch.setattr(module, "WORK", work)
    given = routes(tree(160, 8, 3))
    found = place(given, 9)
    assert found.looked_at <= 2 * module.STARTS * (1 + (module.FEWEST_SWAPS if work == 1 else module.SWAPS))
    for each in (found.best, found.worst):
        assert each.all_to_all == pytest.approx(all_to_all(given, each.hosts).load.max() / 8)
    assert found.best.all_to_all < found.worst.all_to_all


def test_a_search_calls_for_whole_all_to_alls_only_at_its_starts(monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[int] = []

    def counted(*given: object) -> object:
        calls.append(1)
        return all_to_all(*given)  # pyright: ignore[reportArgumentType]

    monkeypatch.setattr(module, "all_to_all", counted)
    found = place(routes(tree(160, 8, 3)), 9)
    assert len(calls) <= 4 * module.STARTS < found.looked_at


def test_all_sets_means_all_sets() -> None:
    found = routes(tree(8, 4, 1))
    exact = place(found, 3)
    times = [all_to_all(found, np.array(chosen, dtype=np.int32)).load.max() / 2 for chosen in combinations(range(8), 3)]
    assert (exact.looked_at, exact.best.all_to_all, exact.worst.all_to_all) == (56, min(times), max(times))


def test_the_best_four_of_a_narrow_tree_share_a_leaf_and_the_worst_do_not() -> None:
    network = tree(12, 4, 1)
    found = place(routes(network), 4)
    assert len(set(network.leaf[found.best.hosts].tolist())) == 1
    assert found.best.all_to_all == 1
    # two and two: 2 x 2 messages over one cable of a host's rate, over 3
    assert found.worst.all_to_all == pytest.approx(4 / 3)


def test_other_jobs_are_kept_clear_of() -> None:
    """Two free hosts on each of three leaves; a job fills the cable between the first two leaves."""
    network = tree(12, 4, 1)
    found = routes(network)
    others = np.array([2, 3, 6, 7], dtype=np.int32)
    free = np.array([0, 4, 8], dtype=np.int32)
    busy = all_to_all(found, others).load.astype(float)
    alone = place(found, 2, free)
    beside = place(found, 2, free, busy)
    assert beside.best.all_to_all > alone.best.all_to_all  # the hosts' leaf shares a cable with the job either way
    with_third = place(found, 2, np.array([0, 8, 9], dtype=np.int32), busy)
    assert with_third.best.hosts.tolist() == [8, 9]


def test_words_for_the_scheduler_name_the_chosen_and_leave_out_the_rest() -> None:
    network = tree(12, 4, 1)
    found = place(routes(network), 4, np.arange(4, 12, dtype=np.int32))
    free = [f"n{i}" for i in range(4, 12)]
    words = scheduler_words(network, found.best, free)
    assert words == {"nodelist": "--nodelist=n[4-7]", "exclude": "--exclude=n[8-11]"}
    assert json.loads(json.dumps(placement_tree(found, network, free)))["best"]["nodes"] == ["n4", "n5", "n6", "n7"]


@pytest.mark.parametrize("count", [0, 1, 13])
def test_more_than_is_free_is_refused(count: int) -> None:
    with pytest.raises(FabricError, match="12 that are free"):
        place(routes(tree(12, 4, 1)), count)
