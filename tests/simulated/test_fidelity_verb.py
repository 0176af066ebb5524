# SPDX-License-Identifier: BSD-3-Clause
"""`weft fidelity` at what CI can afford of Tables 4.2, 4.4 and 4.6; docs/fidelity.md has all of their cells."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from weft.cli.app import main
from weft.fabric import load_fabric
from weft.fidelity import calls, first_calls, published, tables
from weft.fidelity.bench import Bench, row_of, seconds_of
from weft.fit.models import simulated_times
from weft.fit.run import fit_cells
from weft.fit.squares import Fit
from weft.launch.simulated.launcher import SimulatedLauncher
from weft.launch.simulated.programs import Programs

pytestmark = [pytest.mark.simulated, pytest.mark.timeout(900)]


def values(tmp_path: Path, part: str) -> dict[str, float]:
    page = tmp_path / f"{part}.html"
    assert main(["fidelity", part, "-o", str(page), "--into", str(tmp_path / "runs")]) == 0
    assert page.with_suffix(".md").read_text().startswith("# Fidelity")
    return json.loads(page.with_suffix(".json").read_text())[part]


def test_three_cells_of_tara_predict_the_six_others(
    tmp_path: Path, programs: Programs, monkeypatch: pytest.MonkeyPatch
) -> None:
    # The part itself by the closed form: a fit by simulation takes several rounds over 288 ranks (test_fit_to_run).
    fits: list[Fit] = []

    def by_closed_form(*told: Any, **named: Any) -> Fit:
        fits.append(fit_cells(*told, **named | {"simulate": False}))
        return fits[-1]

    monkeypatch.setattr(tables, "fit_cells", by_closed_form)
    found = values(tmp_path, "tables")
    assert found["adapter_rate"] == pytest.approx(2.66e9, rel=0.03)
    assert found["copy_rate"] == pytest.approx(5.36e9, rel=0.01)
    # The shipped numbers, once, by simulation: they give back the cells that they were fitted to, and no others.
    tara = load_fabric("tara")
    seconds = simulated_times(tara, tables.cells(), SimulatedLauncher(tara, programs), tmp_path)
    errors = [simulated / cell.seconds - 1 for simulated, cell in zip(seconds, tables.cells(), strict=True)]
    fitted = {cell.name for cell in fits[0].cells if cell.fitted}
    assert fitted == {"N=1 m=512", "N=36 m=512", "N=36 m=18432"}
    sizes = {cell.label: abs(error) for cell, error in zip(tables.cells(), errors, strict=True)}
    assert max(sizes[name] for name in fitted) < 0.002
    others = [size for name, size in sizes.items() if name not in fitted]
    assert max(others) < 0.05
    assert sum(others) / len(others) < 0.025


NODES = [9, 18]
FEW = """
name = "{name}"
kernel = "exchange"
explain = false
[placement]
nodes = {{ 9 = "row", 18 = "leaf", 36 = "two-leaves" }}
[exchange]
data = "contention"
calls = {calls}
[[series]]
name = "constant-global"
scaling = "strong"
nodes = {nodes}
ranks_per_node = 8
n = 1492992
m = 512
"""


def few(tmp_path: Path, name: str, **said: Any) -> str:
    path = tmp_path / f"{name}.toml"
    path.write_text(FEW.format(name=name, **said).replace("'", '"'))
    return str(path)


def table_of_few_nodes(cluster: str) -> dict[str, Any]:
    """Table 4.6 at some of its numbers of nodes."""
    whole = published(cluster)
    kept = [whole["experiment"]["nodes"].index(count) for count in NODES]
    rows = {
        call: {key: [printed[key][at] for at in kept] for key in ("seconds", "below")}
        for call, printed in whole["calls"].items()
    }
    return whole | {"experiment": whole["experiment"] | {"nodes": NODES}, "calls": rows}


def test_row_b_is_slow_at_first_contact_and_fast_when_connections_are_warm(
    tmp_path: Path, programs: Programs, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(calls, "published", table_of_few_nodes)
    monkeypatch.setattr(calls, "STUDY", few(tmp_path, "calls", calls=["A", "B", "C"], nodes=NODES))
    monkeypatch.setattr(first_calls, "STUDY", few(tmp_path, "first", calls=["A", "B"], nodes=NODES))
    found = values(tmp_path, "calls")
    assert max(abs(found[f"B{count}"]) for count in NODES) < 0.25
    assert found["B_warm"] < 0.1 * 0.32
    assert found["barrier_A18"] < found["fresh_A18"] < 0.01 < found["bruck_A18"]
    assert "takes rdb for it" in (tmp_path / "calls.md").read_text()


def test_only_a_barrier_before_it_keeps_a_below_what_the_paper_prints(tmp_path: Path, programs: Programs) -> None:
    # At N = 36 fresh connections alone contradict "< 0.01 s".
    bench, study = Bench(tmp_path / "runs"), few(tmp_path, "only-a", calls=["A"], nodes=[36])
    seconds = {
        name: seconds_of(row_of(bench.run(study, first_calls.variant(bench.folder, name, keys)).rows, 36, "cold"))
        for name, _, keys in first_calls.EXPLANATIONS
        if name != "bruck"
    }
    assert (seconds["barrier"] or 1.0) < first_calls.LIMIT_S < (seconds["fresh"] or 0.0)


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
    monkeypatch.setattr(f"weft.fidelity.{part}.STUDY", str(study))
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


@pytest.mark.parametrize("part", sorted(SMALL))
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
