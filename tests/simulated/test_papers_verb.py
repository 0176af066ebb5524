# SPDX-License-Identifier: BSD-3-Clause
"""A part of `weft papers` that CI can afford: Tables 4.2, 4.4 and 4.6 against the papers' figures."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from weft.cli.app import main
from weft.launch.simulated.simgrid import Programs

pytestmark = [pytest.mark.simulated, pytest.mark.timeout(900)]


def values(tmp_path: Path, part: str) -> dict[str, float]:
    page = tmp_path / f"{part}.html"
    assert main(["papers", part, "-o", str(page), "--into", str(tmp_path / "runs")]) == 0
    assert page.with_suffix(".md").read_text().startswith("# The papers' figures, simulated")
    return json.loads(page.with_suffix(".json").read_text())[part]


def test_three_cells_of_tara_predict_the_six_others(tmp_path: Path, programs: Programs) -> None:
    found = values(tmp_path, "tables")
    assert found["largest"] < 0.05
    assert found["mean"] < 0.025
    assert found["adapter_rate"] == pytest.approx(2.66e9, rel=0.01)
    assert found["copy_rate"] == pytest.approx(5.36e9, rel=0.01)


@pytest.mark.long
def test_row_b_is_slow_at_first_contact_and_fast_when_connections_are_warm(tmp_path: Path, programs: Programs) -> None:
    found = values(tmp_path, "calls")
    row_b = {name: error for name, error in found.items() if name in ("B9", "B18", "B36")}
    assert len(row_b) == 3
    assert max(map(abs, row_b.values())) < 0.25
    assert found["B_warm"] < 0.1 * 0.59
    # the paper prints A below 10 ms at every N: fresh connections alone contradict it, and so does Bruck's algorithm
    assert found["barrier_A36"] < 0.01 < found["fresh_A36"] < found["bruck_A36"]
    assert "takes rdb for it" in (tmp_path / "calls.md").read_text()


SMALL = {
    "biruni": """
name = "biruni-small"
kernel = "collective"
[collective]
collectives = ["Bcast", "Alltoall", "Scatter", "Gather"]
sizes = ["1 B", "64 KiB"]
[[series]]
name = "four-nodes"
nodes = 4
ranks_per_node = "cores"
processes = [16, 32]
""",
    "yellowstone": """
name = "yellowstone-small"
kernel = "pairs"
[measure]
seed = 1
[placement]
nodes = { 64 = "pairs-64" }
[pairs]
bytes = ["256 KiB"]
concurrency = "isolated"
isolated_most = "1 s"
sample_pairs = 8
[[series]]
name = "few"
nodes = 64
ranks_per_node = 2
""",
}


def small(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, part: str) -> dict[str, float]:
    """A part, computed from a study like its own of a few cells."""
    study = tmp_path / f"{part}.toml"
    study.write_text(SMALL[part])
    monkeypatch.setattr(f"weft.papers.{part}.STUDY", str(study))
    return values(tmp_path, part)


def infinibands_share_of_a_small_block_is_that_of_the_latencies(found: dict[str, float]) -> None:
    for call in ("bcast", "alltoall", "scatter", "gather"):
        assert 0.1 < found[f"{call}32_mean"] < 0.15


def a_hop_adds_its_latency_alone(found: dict[str, float]) -> None:
    assert found["spread_us"] < 0.01
    assert found["min0"] < found["min6"]


EXPECTED = {
    "biruni": infinibands_share_of_a_small_block_is_that_of_the_latencies,
    "yellowstone": a_hop_adds_its_latency_alone,
}


@pytest.mark.parametrize("part", ["biruni", pytest.param("yellowstone", marks=pytest.mark.long)])
def test_twice_the_same_numbers_beside_a_busy_neighbour_too(
    tmp_path: Path, programs: Programs, monkeypatch: pytest.MonkeyPatch, part: str
) -> None:
    # The seed was drawn, and with it the one root that each size was measured from: 12.0 to 16.1 % for Gather.
    places = [tmp_path / name for name in ("idle", "busy")]
    for place in places:
        place.mkdir()
    found = small(places[0], monkeypatch, part)
    with subprocess.Popen([sys.executable, "-c", "while True: pass"]) as neighbour:
        try:
            small(places[1], monkeypatch, part)
        finally:
            neighbour.kill()
    for suffix in ("md", "json", "html"):
        first, second = (place / f"{part}.{suffix}" for place in places)
        assert first.read_bytes() == second.read_bytes(), suffix
    EXPECTED[part](found)
