# SPDX-License-Identifier: BSD-3-Clause
"""Claims of collectives: imbalance is told apart from what the network and the algorithm add."""

from types import SimpleNamespace
from typing import Any, cast

import pytest

from weft.analyse.claims.kernels.collective import _imbalance  # pyright: ignore[reportPrivateUsage]
from weft.analyse.claims.known import Known
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
