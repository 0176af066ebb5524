# SPDX-License-Identifier: BSD-3-Clause
"""Times of a machine to which nothing was fitted are ranges: as wide as its numbers are, and wider for its library."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from weft.analyse.ranges import LIBRARY, bytes_s, is_unfitted, range_of, ranged
from weft.bound.terms import Bound
from weft.fabric import Fabric, load_fabric

MACHINE = """name = "bought"
kind = "simulated"
[node]
names = "n[1-8]"
preset = "epyc-7763"
[network]
preset = "slingshot-11"
[simulation]
"""
RATE, FASTEST, SLOWEST = 17.5, 24.0, 10.0  # GB/s: usual, and the ends of the preset's range


def machine(folder: Path, more: str = "") -> Fabric:
    (folder / "bought.toml").write_text(MACHINE + more)
    return load_fabric(folder / "bought.toml")


def cell(call: str = "alltoall@1", nodes: int = 8, kernel: str = "collective", **terms: float) -> Any:
    bound = Bound(seconds=max(terms.values(), default=0.0), name="injection", terms=terms)
    return SimpleNamespace(
        kernel=kernel, nodes=nodes, ranks_per_node=8, ranks=8 * nodes, hosts=(), parameters={},
        bounds={call: bound} if terms else {},
    )  # fmt: skip


def test_the_bytes_of_a_time_move_with_the_rate_and_the_rest_with_the_costs_of_a_message(tmp_path: Path) -> None:
    fabric = machine(tmp_path)
    only_bytes = range_of(cell(injection=1.0), "alltoall@1", 2**20, fabric, 1.0)
    assert only_bytes == pytest.approx((RATE / FASTEST / LIBRARY, RATE / SLOWEST * LIBRARY))
    low, high = range_of(cell(latency=1e-6), "alltoall@1", 8, fabric, 1e-3)
    assert low == pytest.approx(1e-3 * (1.4 + 0.45) / (2 + 1.08) / LIBRARY)
    assert high == pytest.approx(1e-3 * (4 + 2.5) / (2 + 1.08) * LIBRARY)
    assert bytes_s(cell(latency=1e-6), "alltoall@1", 1e-3) == 0


def test_the_slower_resource_at_each_end_decides(tmp_path: Path) -> None:
    # copies may be five times slower, and then they and not the adapter are the limit
    fabric = machine(tmp_path)
    moved = range_of(cell(**{"injection": 1.0, "memory copy": 0.9}), "alltoall@1", 2**20, fabric, 1.0)
    copies = 80e9 / 32.8e9  # eight cores copy 80 GB/s, a node at least 32.8
    assert moved[1] == pytest.approx(max(RATE / SLOWEST, 0.9 * copies) * LIBRARY)


def test_a_time_below_its_bound_is_within_its_range_all_the_same(tmp_path: Path) -> None:
    low, high = range_of(cell(injection=1.0), "alltoall@1", 2**20, machine(tmp_path), 0.1)
    assert low == pytest.approx(0.1 * RATE / FASTEST / LIBRARY)
    assert low < 0.1 < high


def test_at_sizes_that_may_be_eager_or_not_the_range_has_the_stall(tmp_path: Path) -> None:
    fabric = machine(tmp_path)
    below, between = (range_of(cell(latency=1e-6), "alltoall@1", size, fabric, 1e-3)[1] for size in (2048, 8192))
    assert between == pytest.approx(below * (4 + 2.5 + 4) / (4 + 2.5))


def test_what_a_replay_computes_has_no_range(tmp_path: Path) -> None:
    fabric, replay = machine(tmp_path), cell(kernel="replay")
    replay.parameters = {"computed_ns": 400_000_000, "compute": 1.0}
    low, high = range_of(replay, "replay", 0, fabric, 1.0)
    wide = max(RATE / SLOWEST, (4 + 2.5) / (2 + 1.08)) * LIBRARY
    assert 0.4 < low < 1
    assert high == pytest.approx(0.4 + 0.6 * wide)


def test_rows_have_the_range_unless_a_number_was_fitted_or_the_machine_was_measured(tmp_path: Path) -> None:
    row: Any = {"call": "alltoall@1", "median_s": 1.0, "low_s": None, "high_s": None, "interval": "none"}
    row |= {"block_bytes": 2**20}
    unfitted = machine(tmp_path)
    told = ranged(dict(row), cell(injection=1.0), unfitted)
    assert told["interval"] == "range of presets"
    assert (told["low_s"], told["high_s"]) == pytest.approx((RATE / FASTEST / LIBRARY, RATE / SLOWEST * LIBRARY))
    fitted = machine(tmp_path, '[sources]\n"network.adapter_rate" = "fitted on cells a, b (weft fabric fit)"\n')
    assert not is_unfitted(fitted)
    assert ranged(dict(row), cell(injection=1.0), fitted)["low_s"] is None
    assert not is_unfitted(unfitted.model_copy(update={"kind": "slurm"}))
