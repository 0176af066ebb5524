# SPDX-License-Identifier: BSD-3-Clause
"""What a simulator has to work through, by the word of each kernel; a kernel that says nothing is no kernel."""

import math
from typing import Any

import pytest

from weft.kernel import Kernel
from weft.kernel.registry import KERNELS, kernel_named

DRAWN = [[[0, 1], [2, 3]], [[4, 5]]]


@pytest.mark.parametrize(
    ("name", "values", "ranks", "messages"),
    [
        ("exchange", {"calls": ["A", "B", "C"]}, 8, 3 * 2 * (8 * 7 + 24)),
        ("exchange", {"data": "uniform"}, 8, 2 * 2 * (8 * 7 + 24)),
        ("collective", {"collective": "alltoall", "bytes": [1, 2]}, 8, 2 * 2 * (8 * 7 + 24)),
        ("collective", {"collective": "bcast", "bytes": [1]}, 8, 2 * (4 * 8 + 24)),
        ("collective", {"collective": "bcast", "bytes": [1]}, 4, 2 * (4 * 4 + 8)),
        ("pairs", {"bytes": [8], "first_round": 0, "last_round": 1}, 8, 8 * 2 * 8 + 2 * 24 + 6 * 24),
        ("pairs", {"bytes": [8], "pairs": DRAWN}, 8, 8 * 2 * 3 + 24 + 6 * 24),
        ("pairs", {"bytes": [8], "pairs": DRAWN, "matchings": 2}, 8, 8 * 2 * 3 + 2 * 16 + 6 * 16),
        (
            "pairs",
            {"bytes": [8, 8193], "pairs": DRAWN, "matchings": 2, "both_ways": 4096, "part": 4096},
            8,
            (1 + 3) * 8 * 2 * 3 + 2 * 2 * 16 + 6 * 16,
        ),
        ("pairs", {"bytes": [8], "pairs": DRAWN, "contention": True}, 8, 2 * (8 * 2 * 3 + 24) + 6 * 24),
        ("bandwidth", {"bytes": [8]}, 2, 2 * (64 * 2 + 2)),
        (
            "interference",
            {"victim": "stream", "window": 4, "traffic": ["shift"], "burst": 2, "beside": [2, 3]},
            2,
            2 * (2 * (2 * 4 + 2) + 2 * 2),
        ),
        ("replay", {"messages": 100}, 8, 2 * (4 * 100 + 24)),
        ("floor", {}, 8, 2 * 24),
        ("floor", {}, 1, 0),
    ],
)
def test_the_messages_of_each_kernel_are_counted_before(
    name: str, values: dict[str, Any], ranks: int, messages: int
) -> None:
    assert kernel_named(name).messages(values, ranks, 2) == messages


def exchange(block: int, calls: str) -> dict[str, Any]:
    return {"calls": calls.split(), "n": 1152 * 1152, "m": block // 8}


@pytest.mark.parametrize(
    ("name", "values", "limit", "eager"),
    [
        ("exchange", exchange(16384, "C"), 16384, True),
        ("exchange", exchange(16392, "C"), 16384, False),
        ("exchange", exchange(16392, "A C"), 16384, True),  # A sends counts
        ("exchange", exchange(2**30, "C"), math.inf, True),
        ("collective", {"bytes": [8, 65536]}, 16384, True),
        ("collective", {"bytes": [65536]}, 16384, False),
        ("bandwidth", {"bytes": [65536]}, 16384, False),
        ("pairs", {"bytes": [8]}, 16384, True),
        ("floor", {}, 0, True),
    ],
)
def test_each_kernel_says_whether_its_messages_are_sent_without_asking(
    name: str, values: dict[str, Any], limit: float, eager: bool
) -> None:
    assert (kernel_named(name).smallest(values, 1152) <= limit) == eager


@pytest.mark.parametrize("kernel", [*KERNELS.values(), kernel_named("floor")], ids=lambda each: each.name)
def test_every_kernel_answers_for_itself_what_has_no_default(kernel: Kernel) -> None:
    assert [name for name in ("need", "messages") if name not in vars(type(kernel))] == []
    assert kernel.keys or "flat" in vars(type(kernel))


def test_what_has_no_default_is_refused() -> None:
    with pytest.raises(NotImplementedError):
        Kernel().messages({}, 2, 1)
