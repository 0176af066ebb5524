# SPDX-License-Identifier: BSD-3-Clause
"""A simulated job on a dragonfly that routes adaptively: its times are ranges wherever they are printed."""

import json
from pathlib import Path

import pytest
from walked import rows_of, walked

from made.view import load_view
from weft.cli.app import main
from weft.fabric import load_fabric
from weft.kernel.studies import load_study
from weft.launch.simulated.launcher import SimulatedLauncher
from weft.launch.simulated.simgrid import Programs
from weft.plan.make import make_plan
from weft.report import tables
from weft.report.plan_tables import as_csv, as_markdown

pytestmark = pytest.mark.simulated
FLY = """
name = "fly"
kind = "simulated"
[node]
names = "n[0-39]"
cores = 1
copy_rate = "80 GB/s"
[network]
topology = "dragonfly"
latency = "1 us"
adapter_rate = "4 GB/s"
routing = "{routing}"
[network.dragonfly]
nodes_per_router = 2
routers_per_group = 4
global_links = 1
groups = 5
local_rate = "4 GB/s"
global_rate = "1 GB/s"
[sources]
"node.copy_rate" = "fitted to a run"
"""
STUDY = """
name = "two-groups"
kernel = "exchange"
[exchange]
data = "contention"
calls = ["C"]
[[series]]
name = "one"
nodes = [16]
ranks_per_node = 1
n = 256000
m = 125
"""


SCALING = STUDY.replace('name = "two-groups"', 'name = "growing"').replace(
    "nodes = [16]", 'nodes = [8, 16]\nscaling = "weak"'
)


def test_verdict_headline_and_gate_are_undecided_where_the_range_holds_their_threshold(
    tmp_path: Path, programs: Programs, capsys: pytest.CaptureFixture[str]
) -> None:
    runs = {}
    for routing in ("minimal", "adaptive"):
        (tmp_path / routing).mkdir()
        (tmp_path / routing / "fabric.toml").write_text(FLY.format(routing=routing))
        fabric = load_fabric(tmp_path / routing / "fabric.toml")
        runs[routing] = walked(tmp_path / routing, SCALING, fabric, SimulatedLauncher(fabric, programs))
    sure, unsure = (json.loads(tables.render(load_view(runs[each].path), "json")) for each in ("minimal", "adaptive"))
    factor = unsure["verdicts"][0]["factor"]
    assert sure["verdicts"][0]["outcome"] == "rises"
    assert unsure["verdicts"][0]["left_out"] == "adaptive routing"
    assert factor == sure["verdicts"][0]["factor"]
    assert "range of what the model leaves out: adaptive routing" in unsure["headline"]
    low, high = unsure["verdicts"][0]["low"], unsure["verdicts"][0]["high"]
    assert low < factor <= high
    # 16 nodes take 16 to 64 ms; a factor between is decided by the routing that is not modelled, beyond it it is not
    codes = {}
    for gate in ("faster:1.5", "faster:8", "slower:1.1"):
        codes[gate] = main(["compare", str(runs["minimal"].path), str(runs["adaptive"].path), "--fail-if", gate])
    told = " ".join(capsys.readouterr().out.split())
    assert codes == {"faster:1.5": 2, "faster:8": 0, "slower:1.1": 0}
    assert "Gate faster:1.5 undecided" in told
    assert "because adaptive routing is not modelled" in told
    assert "what the model leaves out: adaptive routing" in told


@pytest.mark.parametrize("routing", ["minimal", "adaptive"])
def test_a_time_under_adaptive_routing_is_a_range_everywhere(tmp_path: Path, programs: Programs, routing: str) -> None:
    (tmp_path / "fabric.toml").write_text(FLY.format(routing=routing))
    fabric = load_fabric(tmp_path / "fabric.toml")
    folder = walked(tmp_path, STUDY, fabric, SimulatedLauncher(fabric, programs))
    (row,) = [row for row in rows_of(folder, "calls") if row["phase"] == "warm"]
    view = load_view(folder.path)
    text, told = tables.render(view, "md"), json.loads(tables.render(view, "json"))
    plan = make_plan(load_study(tmp_path / "study.toml"), fabric)
    # 8 x 8 blocks of 1 MB go from group to group, over the one cable that joins them
    assert row["median_s"] == pytest.approx(64e-3, rel=0.1)
    if routing == "minimal":
        assert (row["low_s"], row["high_s"], row["interval"]) == (None, None, "none")
        assert "not modelled" not in as_markdown(plan)
        return
    assert (row["high_s"], row["interval"]) == (row["median_s"], "range of the model")
    assert row["low_s"] == pytest.approx(row["median_s"] - 48e-3, rel=0.1)  # four cables leave a group: 16 ms
    assert row["bound_s"] <= row["low_s"]
    assert "16 ms to 64 ms" in as_markdown(plan)
    assert "not modelled: adaptive routing" in as_markdown(plan)
    assert as_csv(plan).splitlines()[1].endswith(",adaptive routing")
    assert "range of the model" in text
    (warm,) = [each for each in told["rows"] if each["phase"] == "warm"]
    assert (warm["low_s"], warm["interval"]) == (row["low_s"], "range of the model")
    assert [each for each in told["findings"] if each["rule"] == "range"]
