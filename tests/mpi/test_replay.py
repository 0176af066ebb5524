# SPDX-License-Identifier: BSD-3-Clause
"""An application traced for real, replayed on a machine that is only described."""

import json
import shutil
from pathlib import Path

import pytest
from interposed import LIBRARIES, Site
from traced import compiled, weft_trace

from made.traces import MadeRank
from made.view import load_view
from weft.cli.app import main

MACHINE = """
name = "four"
kind = "simulated"
[node]
names = "n[0-3]"
cores = 2
memory = "4 GiB"
copy_rate = "5 GB/s"
[network]
topology = "fat-tree"
latency = "1 us"
adapter_rate = "2 GB/s"
[network.tree]
nodes_per_leaf = 2
uplinks = 2
link_rate = "2 GB/s"
[simulation]
collectives = "mpich"
"""


def test_a_traced_application_is_replayed_elsewhere(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    if shutil.which("smpicxx") is None:
        pytest.skip("SimGrid is not here: apt install libsimgrid-dev")
    site = Site(LIBRARIES[0])
    command = [*site.start(4), str(compiled(site, "c", tmp_path))]
    assert weft_trace(tmp_path, command, name="trace").returncode == 0
    (tmp_path / "four.toml").write_text(MACHINE)
    words = ["replay", str(tmp_path / "trace"), "--on", str(tmp_path / "four.toml")]
    assert main([*words, "--into", str(tmp_path / "run"), "--compute", "x0"]) == 0
    said = capfd.readouterr().out
    assert "not replayed: MPI_Comm_dup (4), MPI_Comm_free (4), MPI_Comm_split (4)" in said
    view = load_view(tmp_path / "run")
    rows = {row["phase"]: row["median_s"] for row in view.rows if row["call"] == "replay"}
    # a score of small messages, one after another, and a few collectives: tens of microseconds at 1 us each
    assert 5e-6 < rows["warm"] < 1e-3
    assert main([*words, "--nodes", "3"]) == 2
    assert "4 ranks, which 3 nodes cannot share equally" in capfd.readouterr().err
    assert main([*words, "--compute", "fast"]) == 2
    assert "--compute fast is no multiple" in capfd.readouterr().err


def test_what_would_help_is_laid_side_by_side(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    if shutil.which("smpicxx") is None:
        pytest.skip("SimGrid is not here: apt install libsimgrid-dev")
    text = MACHINE.replace("uplinks = 2", "uplinks = 1").replace("n[0-3]", "n[0-7]")
    (tmp_path / "eight.toml").write_text(text.replace("nodes_per_leaf = 2", "nodes_per_leaf = 4"))
    block = 2**20  # all-to-alls of blocks that fill the uplinks: nothing else can help
    for rank in range(16):
        made = MadeRank(rank, 16)
        made.call("MPI_Alltoall", 0, 10**6, bytes=16 * block, received=16 * block).write(tmp_path / "trace/raw")
    words = ["whatif", str(tmp_path / "trace"), "--on", str(tmp_path / "eight.toml")]
    assert main(words) == 0
    said = capfd.readouterr().out
    assert "twice the uplinks: " in said.partition("Helps most")[2]
    found = json.loads((tmp_path / "trace/whatif/four-8-x1/whatif.json").read_text())
    seconds = {row["variant"]: row["seconds"] for row in found["variants"]}
    # half of each leaf's bytes leave it: 8 ranks, 8 blocks of each, over one cable of 2 GB/s
    assert seconds["unchanged"] == pytest.approx(64 * block / 2e9, rel=0.1)
    assert 0.5 < seconds["uplinks"] / seconds["unchanged"] < 0.7  # adapters then take 29 MB at 2 GB/s: 15 ms
    assert seconds["adapter"] == pytest.approx(seconds["unchanged"], rel=0.05)
    assert (tmp_path / "trace/whatif/four-8-x1/whatif.html").is_file()


def test_ranks_share_cores_where_nodes_are_asked_for(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """What the message told to try, --nodes, left a table of bounds, and no reason."""
    if shutil.which("smpicxx") is None:
        pytest.skip("SimGrid is not here: apt install libsimgrid-dev")
    (tmp_path / "four.toml").write_text(MACHINE)
    for rank in range(16):
        made = MadeRank(rank, 16)
        made.call("MPI_Alltoall", 0, 10**6, bytes=16 * 1024, received=16 * 1024).write(tmp_path / "trace/raw")
    words = ["replay", str(tmp_path / "trace"), "--on", str(tmp_path / "four.toml"), "--into", str(tmp_path / "run")]
    assert main(words) == 2
    assert "or share cores: --nodes" in capfd.readouterr().err
    assert main([*words, "--nodes", "4"]) == 0
    (found,) = [row for row in load_view(tmp_path / "run").rows if (row["call"], row["phase"]) == ("replay", "warm")]
    assert found["status"] == "ok"
    assert (found["median_s"] or 0) > 0
    machine = (tmp_path / "four.toml").read_text() + 'budget = "1 us"\n'
    (tmp_path / "four.toml").write_text(machine)
    assert main(["whatif", str(tmp_path / "trace"), "--on", str(tmp_path / "four.toml"), "--nodes", "4"]) == 1
    said = capfd.readouterr().out
    assert "not simulated: " in said, said
