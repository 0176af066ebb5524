# SPDX-License-Identifier: BSD-3-Clause
"""``weft fabric learn``: two planted nodes give a file, whose error on four is shown once a run on four exists."""

from pathlib import Path

import pytest
from test_probe import PLANTED

from weft.cli.app import main
from weft.fabric import load_fabric
from weft.fabric.numbers import fitted_numbers, leave_out_error
from weft.launch.simulated.simgrid import Programs

pytestmark = pytest.mark.simulated
STUDY = """
name = "larger"
kernel = "exchange"
explain = false
[exchange]
data = "contention"
calls = ["C"]
[measure]
launches = 1
seed = 1
[[series]]
name = "grid"
nodes = [3, 4]
ranks_per_node = 4
n = 20736
m = [16, 64]
"""


def test_a_pair_is_probed_written_and_held_against_larger_runs(
    tmp_path: Path, programs: Programs, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    planted = {"cores": 4, "gap": 0.3, "overhead": 0.8, "latency": 1.2, "rate": 5.0, "copies": 20}
    Path("planted.toml").write_text(PLANTED.format(**planted))
    assert main(["fabric", "learn", "--on", "planted.toml"]) == 0
    assert "unknown" in capsys.readouterr().out
    learnt = load_fabric("planted-learnt.toml")
    assert learnt.network is not None
    assert learnt.network.adapter_rate == pytest.approx(5e9, rel=0.05)
    assert learnt.network.overhead == pytest.approx(0.8e-6, rel=0.05)
    assert learnt.node.copy_rate == pytest.approx(20e9, rel=0.05)
    assert {"network.adapter_rate", "node.copy_rate"} <= set(fitted_numbers(learnt))
    assert leave_out_error(learnt) is None

    Path("study.toml").write_text(STUDY)
    assert main(["run", "study.toml", "--on", "planted.toml", "--into", "runs/larger"]) == 0
    capsys.readouterr()
    assert main(["fabric", "learn", "--on", "planted.toml"]) == 0
    assert "N=4 m=64" in capsys.readouterr().out
    error = leave_out_error(load_fabric("planted-learnt.toml"))
    assert error is not None
    assert error < 0.10


def test_one_node_is_no_pair_and_the_file_read_is_not_overwritten(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    fabric = tmp_path / "one.toml"
    fabric.write_text(PLANTED.format(cores=2, gap=1, overhead=1, latency=1, rate=1, copies=1))
    assert main(["fabric", "learn", "--on", str(fabric), "-o", str(fabric)]) == 2
    fabric.write_text(fabric.read_text().replace("n[0-3]", "n0"))
    assert main(["fabric", "learn", "--on", str(fabric)]) == 2
    assert "one node" in capsys.readouterr().err
