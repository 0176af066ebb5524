# SPDX-License-Identifier: BSD-3-Clause
"""What a breakdown asks of a plan: its memory, its time, its key in the flat plan."""

from weft.kernel.registry import kernel_named
from weft.kernel.sizes import split_op
from weft.kernel.steps import split_step, step_op
from weft.study import Measure

EXCHANGE = {"n": 576, "m": 2, "data": "contention", "calls": ["A", "C"]}
ALLTOALL = {"collective": "alltoall", "form": "plain", "bytes": [8, 1024], "refine": 0}
MEASURE = Measure()  # pyright: ignore[reportCallIssue]


def test_a_step_has_its_call_and_no_size_of_its_own() -> None:
    op = step_op("alltoall@1024", "shift")
    assert split_step(op) == ("alltoall@1024", "shift")
    assert split_op(op) == (op, None), "a sweep over sizes must not take it for one"
    assert split_step("alltoall@1024") == ("alltoall@1024", "")


def test_the_call_of_large_blocks_is_explained_and_no_other() -> None:
    exchange = kernel_named("exchange")
    assert exchange.explained(EXCHANGE | {"explain": True}, 4) == ["C"]
    assert exchange.explained(EXCHANGE | {"explain": True, "calls": ["A", "B"]}, 4) == ["B"]
    assert exchange.explained(EXCHANGE | {"explain": True, "calls": ["A"]}, 4) == []
    assert exchange.explained(EXCHANGE | {"explain": True}, 1) == [], "a rank alone exchanges nothing"
    assert exchange.explained(EXCHANGE, 4) == [], "a plan of an earlier Weft asks for none"
    assert exchange.explained({"n": 9, "m": 1, "data": "uniform", "explain": True}, 4) == []


def test_every_size_of_an_all_to_all_is_explained() -> None:
    collective = kernel_named("collective")
    assert collective.explained(ALLTOALL | {"explain": True}, 4) == ["alltoall@8", "alltoall@1024"]
    assert collective.flat(ALLTOALL | {"explain": True})["explain"] == 1
    assert "explain" not in collective.flat(ALLTOALL)


def test_a_breakdown_needs_memory_and_messages() -> None:
    for name, values in (("exchange", EXCHANGE), ("collective", ALLTOALL)):
        kernel = kernel_named(name)
        with_it = kernel.need(values | {"explain": True}, 4, MEASURE)
        assert set(with_it) - set(kernel.need(values, 4, MEASURE)) == {"breakdown samples", "breakdown rounds"}
        assert kernel.messages(values | {"explain": True}, 4, 10) > 2 * kernel.messages(values, 4, 10)


def test_the_rounds_of_many_ranks_are_not_kept_one_by_one() -> None:
    """They were p rows of each of p ranks for each call: 400 MB a call at 4,096 ranks."""
    values = ALLTOALL | {"explain": True}
    needs = {ranks: kernel_named("collective").need(values, ranks, MEASURE)["breakdown rounds"] for ranks in (512, 513)}
    assert needs == {512: 512 * (2 * 24 + 15 * 8), 513: 0}
