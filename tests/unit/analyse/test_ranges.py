# SPDX-License-Identifier: BSD-3-Clause
"""A model's latency beside that of the preset of its network."""

from pathlib import Path
from typing import Any

import pytest

from weft.analyse.ranges import known_latency, latency_findings
from weft.fabric import load_fabric

FABRIC = """\
name = "made"
kind = "simulated"
[node]
names = "n[1-4]"
cores = 2
[network]
topology = "star"
preset = "qdr-infiniband"
latency = "{latency}"
"""


def rows(seconds: float, **changes: Any) -> list[Any]:
    """The hop classes of a run: within a node, one hop, and a large message."""
    one = {"bytes": 0, "mode": "isolated", "class": "1 hop", "hops": 1, "median_s": seconds, "pairs": 30}
    return [
        one | {"hops": 0, "class": "0 hops, same node", "median_s": 1e-3},
        one | changes,
        one | {"bytes": 1 << 20, "median_s": 1.0},
    ]


def test_a_stall_of_hosts_in_a_half_round_trip_is_a_finding() -> None:
    """Half a round trip of 0 B took 166 us on QDR InfiniBand, at quality A."""
    tara = load_fabric("tara")
    note, found = latency_findings(rows(166e-6), tara)
    assert (found["level"], found["rule"]) == ("warning", "latency-beyond-preset")
    assert "138" in found["what"]
    assert latency_findings(rows(1.4e-6), tara) == [note]


def test_what_was_fitted_to_calls_is_no_cost_of_a_pair_and_that_is_noted() -> None:
    tara = load_fabric("tara")
    assert tara.network is not None
    assert tara.network.cost(0).overhead_s == tara.network.cost(1 << 20).overhead_s == pytest.approx(165e-6)
    assert tara.network.of_pairs.cost(0).overhead_s == tara.network.of_pairs.cost(1 << 20).overhead_s == 0.0
    (note,) = latency_findings(rows(1.4e-6), tara)
    assert (note["level"], note["rule"]) == ("note", "stall-left-out")
    assert "network.eager_overhead = 165 us" in note["what"]


@pytest.mark.parametrize(("ratio", "told"), [(0.29, True), (0.31, False), (1.0, False), (2.9, False), (3.1, True)])
def test_the_latency_of_the_preset_counts_whatever_the_file_states(tmp_path: Path, ratio: float, told: bool) -> None:
    (tmp_path / "made.toml").write_text(FABRIC.format(latency="40 us"))
    fabric = load_fabric(str(tmp_path / "made.toml"))
    assert fabric.network is not None and known_latency(fabric.network) == pytest.approx(1.2e-6)
    assert bool(latency_findings(rows(ratio * 1.2e-6), fabric)) is told


def test_where_only_pairs_side_by_side_or_of_one_node_were_measured_nothing_is_said() -> None:
    tara = load_fabric("tara")
    beyond = [found["rule"] for found in latency_findings([row for row in rows(166e-6) if not row["hops"]], tara)]
    assert beyond == ["stall-left-out"]
    same_leaf = rows(166e-6, mode="all", pairs=2, hops=0, **{"class": "0 hops, same leaf"})
    assert len(latency_findings(same_leaf, tara)) == 2, "two nodes of one leaf, the only pair of the job"
    assert len(latency_findings(rows(166e-6, mode="all")[:2], tara)) == 1
