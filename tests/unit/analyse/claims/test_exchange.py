# SPDX-License-Identifier: BSD-3-Clause
"""What limits an all-to-all, by id: one word by what most of its time goes to."""

from types import SimpleNamespace
from typing import Any, cast

import pytest

from made.scaling import PAPER_STRONG, PAPER_WEAK, point
from weft.analyse.claims.kernels.exchange import find_claims, limit_of
from weft.analyse.claims.make import Known
from weft.analyse.scaling import verdict
from weft.analyse.tables.breakdown import CauseRow

WEAK = verdict(cast(Any, PAPER_WEAK), "s", "weak", "C")
STRONG = verdict(cast(Any, PAPER_STRONG), "s", "strong", "C")


def cause(kind: Any, name: str = "", nodes: int = 36) -> CauseRow:
    return CauseRow(cell="c36", call="C", nodes=nodes, ranks=8 * nodes, kind=kind, name=name, share=0.8)


@pytest.mark.parametrize(
    ("row", "limit"),
    [
        (cause("link", "link leaf0 up"), "network-bound"),
        (cause("hardware", "injection"), "network-bound"),
        (cause("contention"), "network-bound"),
        (cause("contention", nodes=1), "memory-bound"),
        (cause("hardware", "memory copy"), "memory-bound"),
        (cause("messages"), "message-bound"),
        (cause("bound", "overhead"), "message-bound"),
        (cause("algorithm"), "not-network-bound"),
        (cause("arrival"), "not-network-bound"),
        (cause("unknown"), "network-bound"),
    ],
)
def test_a_rise_over_nodes_is_named_by_what_most_of_its_time_goes_to(row: CauseRow, limit: str) -> None:
    assert limit_of(WEAK, row) == limit


def test_what_falls_or_hardly_rises_is_not_bound_by_the_network() -> None:
    flat = verdict(cast(Any, [point(1, 1.0), point(8, 1.03)]), "s", "weak", "C")
    for row in (STRONG, flat):
        assert limit_of(row, cause("link", "link leaf0 up")) == "not-network-bound"


def test_ranks_of_one_node_never_reach_the_network() -> None:
    rows = [point(1, t, ranks=p, ranks_per_node=p) for p, t in ((1, 1.0), (2, 1.5), (4, 4.0))]
    found = verdict(cast(Any, rows), "s", "weak", "C")
    assert limit_of(found, None) == "not-network-bound"
    assert limit_of(found, cause("hardware", "memory copy", nodes=1)) == "memory-bound"


def made(*verdicts: Any) -> Known:
    known = SimpleNamespace(
        verdicts=list(verdicts), causes=[cause("link", "link leaf0 up")], warm=PAPER_WEAK, sensitivity=[],
        plan=SimpleNamespace(is_model=False),
        again=lambda *options: " ".join(("weft run x", *options)),
    )  # fmt: skip
    return cast(Known, known)


def test_an_answer_has_its_steps_and_its_bottleneck_with_their_numbers() -> None:
    for row in PAPER_WEAK:
        row["coverage"] = 0.95
    found = {each["id"]: each for each in find_claims(made(STRONG, WEAK))}
    assert found["contention.network-bound"]["value"] == pytest.approx(2.30 / 1.14)
    assert found["scaling.strong"]["value"] == pytest.approx(0.11 / 1.14)
    assert found["step.1-3-nodes"]["value"] == pytest.approx(1.64 / 1.14)
    assert found["step.3-36-nodes"]["value"] == pytest.approx(2.30 / 1.64)
    assert (found["bottleneck.uplink"]["value"], found["bottleneck.uplink"]["bound"]) == (0.8, pytest.approx(1.15))


def test_too_few_launches_answer_with_weak_scaling_and_the_command_that_adds_them() -> None:
    few = [row | {"launches": 1, "coverage": 0.95} for row in PAPER_WEAK]
    strong = verdict(cast(Any, few), "s", "strong", "C")
    weak = verdict(cast(Any, few), "s", "weak", "C")
    first, second = find_claims(made(strong, weak))
    assert (first["id"], first["subject"], first["next"]) == (
        "contention.inconclusive", "weak scaling", "weft run x --launches 4",
    )  # fmt: skip
    assert second["id"] == "scaling.strong"
