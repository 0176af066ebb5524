# SPDX-License-Identifier: BSD-3-Clause
"""``weft whatif`` on traces whose answer is known by how they were made."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from made.traces import MadeRank
from weft.cli.app import main
from weft.launch.simulated.simgrid import Programs
from weft.store.trace.layout import Flag

pytestmark = pytest.mark.simulated
MACHINE = """
name = "tree"
kind = "simulated"
[node]
names = "n[0-7]"
cores = {cores}
memory = "1 GiB"
copy_rate = "1000 GB/s"
[network]
topology = "fat-tree"
latency = "1 us"
adapter_rate = "2 GB/s"
overhead = "5 us"
[network.tree]
nodes_per_leaf = 4
uplinks = 1
link_rate = "2 GB/s"
[simulation]
collectives = "mpich"
"""
BLOCK = 4 << 20


def answers(folder: Path, ranks: int, calls: Callable[[MadeRank, int], object], cores: int = 1) -> dict[str, float]:
    """Time of each variant against that of the unchanged machine."""
    (folder / "tree.toml").write_text(MACHINE.format(cores=cores))
    for rank in range(ranks):
        made = MadeRank(rank, ranks)
        calls(made, rank)
        made.write(folder / "trace" / "raw")
    assert main(["whatif", str(folder / "trace"), "--on", str(folder / "tree.toml")]) == 0
    (found,) = (folder / "trace" / "whatif").glob("*/whatif.json")
    seconds = {row["variant"]: row["seconds"] for row in json.loads(found.read_text())["variants"]}
    return {name: each / seconds["unchanged"] for name, each in seconds.items()}


def test_messages_that_all_cross_one_cable_take_half_of_the_time_over_two(
    programs: Programs, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def calls(made: MadeRank, rank: int) -> None:
        made.call("MPI_Sendrecv", 0, 9, peer=rank ^ 4, tag=1, bytes=BLOCK)
        made.call("completion", 0, 9, peer=rank ^ 4, tag=1, received=BLOCK, flags=Flag.RECEIVE)
        made.call("MPI_Put", 10, 11, peer=0, bytes=8)

    found = answers(tmp_path, 8, calls)
    assert found == pytest.approx({"unchanged": 1.0, "uplinks": 0.5, "adapter": 1.0}, rel=0.02)
    said = " ".join(capsys.readouterr().out.split())
    assert "MPI_Put (8)" in said


def test_small_all_to_alls_want_an_algorithm_that_knows_the_nodes_and_small_messages_nothing(
    programs: Programs, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def exchange(made: MadeRank, rank: int) -> None:
        made.call("MPI_Alltoall", 0, 9, bytes=16 * 64, received=16 * 64)

    def ring(made: MadeRank, rank: int) -> None:
        for turn in range(0, 1000, 100):
            made.call("MPI_Sendrecv", turn, turn + 100, peer=(rank + 1) % 8, tag=1, bytes=8)
            made.call("completion", turn, turn + 100, peer=(rank - 1) % 8, tag=1, received=8, flags=Flag.RECEIVE)

    (tmp_path / "exchange").mkdir()
    found = answers(tmp_path / "exchange", 16, exchange, cores=4)
    assert found["all-to-all"] < 0.6
    assert found["uplinks"] > 0.9
    assert "node.multi{nl=4}" in capsys.readouterr().out
    assert answers(tmp_path, 8, ring) == pytest.approx({"unchanged": 1.0, "uplinks": 1.0, "adapter": 1.0}, rel=0.01)
