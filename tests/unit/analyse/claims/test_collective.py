# SPDX-License-Identifier: BSD-3-Clause
"""Claims of collectives: imbalance is told apart from what the network and the algorithm add."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from weft.analyse.claims.kernels.collective import (
    _imbalance,  # pyright: ignore[reportPrivateUsage]
    _left_algorithm,  # pyright: ignore[reportPrivateUsage]
)
from weft.analyse.claims.make import Known
from weft.analyse.tables.answers import CHANGES, ChangeRow
from weft.analyse.tables.claims import ClaimRow, extras
from weft.analyse.tables.times import TimedRow
from weft.fabric import load_fabric
from weft.host import Host, Limit
from weft.kernel.studies import make_study
from weft.plan.make import make_plan

HOST = Host("here", 4, 2**34, (Limit(2**34, "MemAvailable"),))


def imbalance(**section: Any) -> list[ClaimRow]:
    """The claims about the first cell of a study on four virtual nodes, whose main call took 50 ms."""
    chosen = {"collectives": ["Alltoallv"], "sizes": ["64 KiB"], **section}
    series = {"name": "a", "nodes": [4], "ranks_per_node": 2}
    study = make_study({"name": "s", "kernel": "collective", "collective": chosen, "series": [series]}, "s.toml")
    plan = make_plan(study, load_fabric("virtual-default"), host=HOST)
    cell = next(cell for cell in plan.cells if cell.kernel == "collective")
    row = {"cell": cell.id, "call": next(call for call in cell.bounds if call != "barrier"), "median_s": 0.05}
    return _imbalance(cast(Known, SimpleNamespace(plan=plan)), cast(TimedRow, row))


def test_a_hot_receiver_is_told_beside_the_bound_of_the_same_bytes_in_even_blocks() -> None:
    (claim,) = imbalance(patterns=["hot"], skew=[4])
    more = extras(claim)
    assert (claim["id"], claim["unit"], more["limit"], more["seconds"]) == (
        "collective.imbalance", "seconds", "injection", 0.05,
    )  # fmt: skip
    # of 8 ranks on 4 nodes one gets half: its node receives 6 of 12 shares of the other six ranks, 4/8 + 4/56 of each
    block = 65_536
    received = 6 * 8 * block * (4 / 8 + (8 - 4) / 7 / 8)
    assert claim["value"] == pytest.approx((received - 31_250) / 62.5e6, rel=0.01)
    assert more["even"] == pytest.approx((16 * block - 31_250) / 62.5e6, rel=0.01)  # leaf0's 4 ranks to the other 4


def test_even_blocks_have_no_imbalance_to_tell() -> None:
    assert imbalance() == []
    assert imbalance(patterns=["hot"], skew=[1]) == []


def left_algorithm(path: Path, *changes: dict[str, Any], size: int = 8192, seconds: float = 7e-5) -> list[ClaimRow]:
    """The claims about a call by ring, after these change-overs of its line."""
    plain = ChangeRow(
        cell="c000", call="bcast", nodes=4, ranks=8, lower=4096, upper=8192, surely_lower=4096, surely_upper=8192,
        lower_s=1e-5, upper_s=7e-5, algorithm_before="tree", algorithm_after="ring", kind="jump", factor=5.0, low=4.0,
        high=6.0, before_rate=1e9, after_rate=None, confidence=1.0, knobs=[], knob_values=[], knob_value=None,
        knob_meaning="", usual_knob="", eager_limit=False, confirmed="", refuted=[],
    )  # fmt: skip
    rows = [ChangeRow(**{**plain, **change}) for change in changes]
    CHANGES.write(path, rows)
    row = {"cell": "c000", "call": f"bcast@{size}", "median_s": seconds, "algorithm": "ring"}
    line = SimpleNamespace(jumps=[row for row in rows if row["kind"] == "jump"])
    return _left_algorithm(cast(Known, SimpleNamespace(path=path)), cast(Any, line), cast(TimedRow, row))


@pytest.mark.parametrize(("size", "seconds"), [(8192, 7e-5), (16_384, 9e-5)])
def test_the_algorithm_that_a_library_left_for_a_slower_one_is_advised(
    tmp_path: Path, size: int, seconds: float
) -> None:
    earlier = {"upper": 64, "algorithm_before": "other", "algorithm_after": "tree"}
    (claim,) = left_algorithm(tmp_path, earlier, {}, size=size, seconds=seconds)
    assert (claim["subject"], claim["evidence"]) == ("tree", ["change_overs:1"])  # the last before this size
    assert claim["value"] == pytest.approx(1 - (1e-5 + (size - 4096) / 1e9) / seconds)


@pytest.mark.parametrize(
    ("change", "row"),
    [
        ({"factor": 0.5, "low": 0.4, "high": 0.6}, {}),  # the library was right to change
        ({"factor": 1.2, "low": 0.9, "high": 1.5}, {}),  # unsure
        ({"upper": 2 << 20}, {}),  # at a larger size
        ({"algorithm_before": "", "algorithm_after": ""}, {}),  # an eager limit
        ({"algorithm_after": "scatter"}, {}),  # and changed again since
        ({"kind": "switch", "factor": None, "low": None, "high": None}, {}),
        ({}, {"size": 16_385, "seconds": 1.0}),  # nobody saw how the old one goes on
        ({}, {"size": 16_384, "seconds": 2.4e-5}),  # the new one has caught up
    ],
)
def test_no_algorithm_is_advised_that_was_not_left_for_a_slower_one(
    tmp_path: Path, change: dict[str, Any], row: dict[str, Any]
) -> None:
    assert left_algorithm(tmp_path, change, **row) == []
