# SPDX-License-Identifier: BSD-3-Clause
"""Replays on a simulated machine: they take what the kernels and the machine's own numbers say of the same traffic."""

from pathlib import Path

import numpy as np
import pytest
from simulated_cells import TARA

from made.traces import MadeRank
from made.view import load_view
from weft.fabric import load_fabric
from weft.kernel.studies import load_study
from weft.launch.simulated.launcher import SimulatedLauncher
from weft.launch.simulated.simgrid import Programs
from weft.run.one import run_study
from weft.store.rows import MEASURED
from weft.store.trace.script import ACTION, HEAD, PART
from weft.trace.replay import Asked, prepare

pytestmark = pytest.mark.simulated
MS = 1_000_000
CALLS = ("replay", "alltoall@65536")
SWEEP = """
name = "same"
kernel = "collective"
explain = false
[measure]
seed = 7
[collective]
collectives = ["alltoall"]
sizes = ["64 KiB"]
[[series]]
name = "four"
nodes = [4]
ranks_per_node = 1
"""


def seconds(study: Path, folder: Path, programs: Programs, text: str = TARA) -> float:
    """The simulated time of a study's last call."""
    folder.mkdir()
    (folder / "fabric.toml").write_text(text)
    fabric = load_fabric(folder / "fabric.toml")
    run = run_study(load_study(study), fabric, folder / "run", SimulatedLauncher(fabric, programs))
    (found,) = [row["median_s"] for row in load_view(run).rows if row["phase"] == "warm" and row["call"] in CALLS]
    return found


def traced(folder: Path, ranks: list[MadeRank], asked: Asked) -> Path:
    """The study of a replay of made ranks."""
    for rank in ranks:
        rank.write(folder / "raw")
    (folder / "fabric.toml").write_text(TARA)
    return prepare(folder, [load_fabric(folder / "fabric.toml")], asked)[0]


def test_a_replayed_all_to_all_takes_as_long_as_the_kernels_own(tmp_path: Path, programs: Programs) -> None:
    (tmp_path / "sweep.toml").write_text(SWEEP)
    own = seconds(tmp_path / "sweep.toml", tmp_path / "own", programs)
    sizes = {"bytes": 4 * 65536, "received": 4 * 65536}
    ranks = [MadeRank(rank, 4).call("MPI_Alltoall", 0, MS, **sizes) for rank in range(4)]
    study = traced(tmp_path / "trace", ranks, Asked(nodes=4))
    assert seconds(study, tmp_path / "again", programs) == pytest.approx(own, rel=0.01)
    # the same blocks as a vector call, and among the halves of the world only
    for rank in ranks:
        rank.records.clear()
        rank.communicator(
            9, 40 + int(rank.head["rank"]) % 2, [int(rank.head["rank"]) % 2, int(rank.head["rank"]) % 2 + 2]
        )
        rank.call("MPI_Alltoallv", 0, MS, comm=9, bytes=2 * 65536, received=2 * 65536).counts([65536] * 2, comm=9)
    study = traced(tmp_path / "halves", ranks, Asked(nodes=4))
    assert 0 < seconds(study, tmp_path / "half", programs) < 0.6 * own


def test_computation_is_scaled_and_messages_are_not(tmp_path: Path, programs: Programs) -> None:
    sender = MadeRank(0, 2).call("MPI_Barrier", 0, 1).call("MPI_Send", 50 * MS, 51 * MS, peer=1, tag=1, bytes=2**26)
    receiver = MadeRank(1, 2).call("MPI_Barrier", 0, 1).call("MPI_Recv", 1, 60 * MS, peer=0, tag=1, received=2**26)
    found = {}
    for factor in (0.0, 1.0, 3.0):
        study = traced(tmp_path / f"trace{factor}", [sender, receiver], Asked(nodes=2, compute=factor))
        found[factor] = seconds(study, tmp_path / f"run{factor}", programs)
    assert found[1.0] - found[0.0] == pytest.approx(0.05, rel=0.01)
    assert found[3.0] - found[0.0] == pytest.approx(0.15, rel=0.01)
    rate = load_fabric(tmp_path / "run0.0/fabric.toml").network
    assert rate is not None and rate.adapter_rate is not None
    assert found[0.0] == pytest.approx(2**26 / rate.adapter_rate, rel=0.05)


@pytest.mark.parametrize("field", ["act", "comm", "peer", "tag", "bytes", "received", "value", "offset"])
def test_an_action_that_cannot_be_is_refused_by_its_number(tmp_path: Path, programs: Programs, field: str) -> None:
    ranks = [MadeRank(rank, 2) for rank in range(2)]
    ranks[0].call("MPI_Isend", 0, 1, peer=1, tag=1, bytes=64, request=1).call(
        "MPI_Recv", 1, 2, peer=1, tag=2, received=8
    )
    ranks[1].call("MPI_Recv", 0, 1, peer=0, tag=1, received=64).call("MPI_Send", 1, 2, peer=0, tag=2, bytes=8)
    study = traced(tmp_path / "trace", ranks, Asked(nodes=2))
    script = tmp_path / "trace/replay.script"
    raw = bytearray(script.read_bytes())
    first = int(np.frombuffer(raw, PART, 1, HEAD.itemsize)["first_action"][0])
    actions = np.frombuffer(raw, ACTION, 2, first)  # of rank 0: start of a message, and a receive
    actions[1 if field in ("received", "offset") else 0][field] = 30_000
    script.write_bytes(raw)
    folder = tmp_path / "run"
    folder.mkdir()
    (folder / "fabric.toml").write_text(TARA)
    fabric = load_fabric(folder / "fabric.toml")
    run = run_study(load_study(study), fabric, folder / "run", SimulatedLauncher(fabric, programs))
    reasons = [row["reason"] for row in MEASURED.read(run.path)]
    assert field == "tag" or any("has an action that cannot be: its number" in reason for reason in reasons), reasons


PIECES, PIECE = 4, 2**22
EAGER = TARA.replace('eager_limit = "16 KiB"', 'eager_limit = "8 MiB"')


def piece_s() -> float:
    """Seconds of a piece on the links of the machine."""
    return PIECE / 2.62e9


def test_bytes_without_asking_leave_before_their_receiver_asks(tmp_path: Path, programs: Programs) -> None:
    """They began when the receive was posted: reductions and gathers of replays took a quarter too long."""
    sender = MadeRank(0, 2).call("MPI_Barrier", 0, 1)
    receiver = MadeRank(1, 2).call("MPI_Barrier", 0, 1)
    for piece in range(PIECES):
        sender.call("MPI_Send", 1, 2, peer=1, tag=piece, bytes=PIECE)
        receiver.call("MPI_Recv", 50 * MS, 50 * MS + 1, peer=0, tag=piece, received=PIECE)
    study = traced(tmp_path / "trace", [sender, receiver], Asked(nodes=2))
    assert seconds(study, tmp_path / "run", programs, EAGER) == pytest.approx(0.05, rel=0.01)


@pytest.mark.parametrize("full_up_to", [300, 1])  # SimGrid's two ways of updating flows
def test_pieces_of_one_pair_arrive_one_after_another(
    full_up_to: int, tmp_path: Path, programs: Programs, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They shared their link, so that all arrived at the end, and the ranks of a pipeline took turns."""
    monkeypatch.setattr("weft.launch.simulated.launcher.FULL_UP_TO", full_up_to)
    ranks = [MadeRank(rank, 3).call("MPI_Barrier", 0, 1) for rank in range(3)]
    for piece in range(PIECES):
        for rank, made in enumerate(ranks):
            if rank > 0:
                made.call("MPI_Recv", 1, 2, peer=rank - 1, tag=piece, received=PIECE)
            if rank < 2:
                made.call("MPI_Send", 1, 2, peer=rank + 1, tag=piece, bytes=PIECE)
    study = traced(tmp_path / "trace", ranks, Asked(nodes=3))
    found = seconds(study, tmp_path / "run", programs, EAGER)
    assert found == pytest.approx((PIECES + 1) * piece_s(), rel=0.02)
