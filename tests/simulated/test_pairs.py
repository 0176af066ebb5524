# SPDX-License-Identifier: BSD-3-Clause
"""Pairs in the simulator: latencies that can be worked out by hand."""

from pathlib import Path
from typing import Any

import pytest
from simulated_cells import TARA
from walked import rows_of, walked

from weft.fabric import load_fabric
from weft.launch.simulated.launcher import SimulatedLauncher
from weft.launch.simulated.simgrid import Programs

pytestmark = pytest.mark.simulated

STUDY = """
name = "by-hops"
kernel = "pairs"
[measure]
seed = 7
[pairs]
bytes = ["0 B", "256 KiB"]
contention = true
[[series]]
name = "all"
nodes = {nodes}
ranks_per_node = {ranks}
"""
# Two nodes under each leaf, and what crosses leaves goes two links further.
TWO_LEAVES = (
    TARA.replace("nodes_per_leaf = 18", "nodes_per_leaf = 2")
    .replace('link_rate = "3.5 GB/s"', 'link_rate = "3.5 GB/s"\nlink_latency = "500 ns"')
    .replace('"160 us"', '"0 us"')
)


def pairs(
    tmp_path: Path, programs: Programs, nodes: int, ranks: int, machine: str = TWO_LEAVES
) -> list[dict[str, Any]]:
    path = tmp_path / "fabric.toml"
    path.write_text(machine)
    fabric = load_fabric(path)
    text = STUDY.format(nodes=nodes, ranks=ranks)
    return rows_of(walked(tmp_path, text, fabric, SimulatedLauncher(fabric, programs)), "pairs")


def medians(rows: list[dict[str, Any]], size: int, mode: str) -> dict[tuple[int, int], float]:
    return {(r["source"], r["target"]): r["median_s"] for r in rows if (r["bytes"], r["mode"]) == (size, mode)}


def test_latency_is_that_of_the_links_on_the_route(tmp_path: Path, programs: Programs) -> None:
    rows = pairs(tmp_path, programs, nodes=4, ranks=1)
    found = medians(rows, 0, "isolated")
    assert len(found) == 12
    for (source, target), seconds in found.items():
        links = 2 if source // 2 != target // 2 else 0
        assert seconds == pytest.approx(1.2e-6 + links * 0.5e-6, rel=0.02), (source, target)
    for row in rows:
        if row["bytes"] == 0:
            assert row["forward_s"] == pytest.approx(row["median_s"], rel=0.02), "one way is half of there and back"


def test_a_large_message_takes_as_long_as_its_bytes(tmp_path: Path, programs: Programs) -> None:
    found = medians(pairs(tmp_path, programs, nodes=2, ranks=1), 262_144, "isolated")
    assert set(found) == {(0, 1), (1, 0)}
    for seconds in found.values():
        assert seconds == pytest.approx(1.2e-6 + 262_144 / 2.62e9, rel=0.02)


def test_a_large_message_asks_first_and_a_small_one_does_not(tmp_path: Path, programs: Programs) -> None:
    # SMPI charges a blocking MPI_Send for that only where it is small; a ping-pong sends by nothing else.
    machine = TWO_LEAVES.replace('rendezvous_stall = "0 us"', 'rendezvous_stall = "30 us"')
    rows = pairs(tmp_path, programs, nodes=2, ranks=1, machine=machine)
    for seconds in medians(rows, 262_144, "isolated").values():
        assert seconds == pytest.approx(1.2e-6 + 262_144 / 2.62e9 + 30e-6, rel=0.005)
    for seconds in medians(rows, 0, "isolated").values():
        assert seconds == pytest.approx(1.2e-6, rel=0.02)


def test_pairs_that_share_an_adapter_contend_for_it(tmp_path: Path, programs: Programs) -> None:
    rows = pairs(tmp_path, programs, nodes=2, ranks=4)
    alone, together = medians(rows, 262_144, "isolated"), medians(rows, 262_144, "all")
    for (source, target), seconds in together.items():
        if source // 4 != target // 4:
            # four send through one adapter; a pair that has come a little earlier is on its way back by then
            share = (seconds - alone[source, target]) / (3 * 262_144 / 2.62e9)
            assert 0.8 < share < 1.05
