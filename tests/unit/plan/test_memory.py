# SPDX-License-Identifier: BSD-3-Clause
"""What a cell asks for, against what is there (METHOD 22)."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from weft.host import Limit
from weft.kernel.exchange import Exchange
from weft.kernel.exchange.study import regular_sampling
from weft.plan.records import memory_need
from weft.study import Measure

CONTENTION = {"n": 1_492_992, "m": 512, "data": "contention", "calls": ["A", "B", "C"]}


def need(values: dict, ranks: int) -> dict[str, int]:
    return Exchange().need(values, ranks, Measure())


def test_the_need_of_a_node_is_that_of_its_ranks() -> None:
    found = memory_need({"send": 100, "receive": 50}, ranks_per_node=4, nodes=3, limit=None)
    assert (found.rank_bytes, found.node_bytes, found.job_bytes) == (150, 600, 1800)
    assert found.fits
    assert found.formula == "send 100 B + receive 50 B"


@pytest.mark.parametrize(("limit", "fits"), [(600, True), (599, False)])
def test_a_cell_fits_up_to_the_last_byte(limit: int, fits: bool) -> None:
    found = memory_need({"send": 150}, 4, 1, Limit(limit, "cgroup limit"))
    assert found.fits is fits
    assert bool(found.reason) is not fits


def test_the_reason_holds_the_formula_and_the_numbers() -> None:
    found = memory_need({"send": 2048, "receive": 1024}, 2, 1, Limit(1024, "MemAvailable"))
    assert found.reason == (
        "needs 6 KiB a node (3 KiB a rank = send 2 KiB + receive 1 KiB), 1 KiB available (MemAvailable)"
    )


def test_the_two_arrays_of_the_papers_are_the_overwhelming_part() -> None:
    parts = need(CONTENTION, 8)
    assert parts["unsorted"] == parts["sorted"] == 729 * 2**20
    assert parts["int buffers"] == 2 * 4 * 186_624
    assert sum(parts.values()) < 1.03 * 2 * 729 * 2**20


def test_calls_that_are_not_made_need_no_buffers() -> None:
    parts = need({**CONTENTION, "calls": ["A"]}, 8)
    assert parts["unsorted"] == parts["sorted"] == parts["int buffers"] == 0


def test_a_sort_has_room_for_more_than_it_sent() -> None:
    values = {"n": 1_000_000, "m": 4, "data": "skewed"}
    parts = need(values, 7)
    assert parts["sorted"] == regular_sampling(1_000_000, 7)[2] * 4 * 8 > 1_000_000 // 7 * 32
    assert parts["index"] == 16 * -(-1_000_000 // 7)


def largest_part(keys: list[int], ranks: int) -> int:
    """Regular sampling by brute force: the most vectors any rank receives."""
    width, total, _ = regular_sampling(len(keys), ranks)
    share, longer = divmod(len(keys), ranks)
    parts: list[list[tuple[int, int]]] = []
    first = 0
    for rank in range(ranks):
        count = share + (rank < longer)
        parts.append(sorted((key, first + place) for place, key in enumerate(keys[first : first + count])))
        first += count
    samples = sorted(part[k * width + width - 1] for part in parts for k in range(len(part) // width))
    assert len(samples) == total
    ends = [len(samples) * k // ranks for k in range(1, ranks)]
    splitters = [samples[end - 1] if end else (-1, 0) for end in ends]
    everything = sorted(vector for part in parts for vector in part)
    sizes = [0] * ranks
    for vector in everything:
        sizes[sum(splitter < vector for splitter in splitters)] += 1
    return max(sizes)


@given(st.lists(st.integers(0, 20), min_size=1, max_size=300), st.integers(1, 6))
def test_no_rank_of_a_sort_receives_more_than_its_bound(keys: list[int], ranks: int) -> None:
    _, _, most = regular_sampling(len(keys), ranks)
    assert largest_part(keys, ranks) <= most <= len(keys)


# What weft-measure wrote into its records for these cells: need_rank_bytes with Open MPI 5.0, default max_samples.
COUNTED_BY_THE_KERNEL = [
    ({"n": 36_000, "m": 4, "data": "contention", "calls": ["A", "B", "C"]}, 1, 36_390_649),
    ({"n": 36_000, "m": 8, "data": "contention", "calls": ["A", "B", "C"]}, 2, 36_377_745),
    ({"n": 36_000, "m": 12, "data": "contention", "calls": ["A", "B", "C"]}, 3, 36_460_841),
]


@pytest.mark.parametrize(("values", "ranks", "counted"), COUNTED_BY_THE_KERNEL)
def test_the_plan_counts_what_the_kernel_counts(values: dict, ranks: int, counted: int) -> None:
    assert sum(need(values, ranks).values()) == counted


@pytest.mark.parametrize(("m", "ranks", "counted"), [(4, 1, 36_727_269), (8, 2, 36_645_265), (12, 3, 36_751_581)])
def test_the_plan_of_a_sort_counts_what_the_kernel_counts(m: int, ranks: int, counted: int) -> None:
    # The kernel adds its merge tree: some tens of bytes a rank.
    assert sum(need({"n": 36_000, "m": m, "data": "uniform"}, ranks).values()) == pytest.approx(
        counted, abs=100 * ranks
    )
