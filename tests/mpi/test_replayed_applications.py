# SPDX-License-Identifier: BSD-3-Clause
"""Quantum ESPRESSO and HPCC, traced and replayed: as many messages and bytes as the trace has, to the last one."""

import re
import shutil
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from interposed import Site
from test_applications import PSEUDOPOTENTIALS, SILICON
from test_replay import MACHINE
from traced import events_of, weft_trace

from made.view import load_view
from weft.cli.app import main
from weft.store.trace.layout import Flag
from weft.store.trace.script import ACTION, HEAD, PART, Act
from weft.trace.actions import COLLECTIVES

RANKS = 4
Counted = Counter[tuple[str, str]]
SINGLE = ("SEND", "RECEIVE")


def traced_counts(trace: Path) -> Counted:
    """Messages and collective calls of a trace by act, and their bytes, from its events alone."""
    found: Counted = Counter()
    for row in events_of(trace):
        call, flags = row["call"], row["flags"]
        if flags & (Flag.FAILED | Flag.CANCELLED | Flag.INTER | Flag.UNFINISHED):
            continue
        if call in COLLECTIVES:
            found[COLLECTIVES[call][0].name, "calls"] += 1
            continue
        sent = row["peer"] >= 0 and (re.search("[Ss]end", call) or (call == "MPI_Start" and not flags & Flag.RECEIVE))
        came = row["peer"] >= 0 and (
            call in ("MPI_Recv", "MPI_Mrecv") or (call == "completion" and flags & Flag.RECEIVE)
        )
        for word, there, size in zip(SINGLE, (sent, came), (row["bytes"], row["received"]), strict=True):
            if there and not call.endswith("_init"):
                found[word, "calls"] += 1
                found[word, "bytes"] += size
    for row in events_of(trace):
        act, _ = COLLECTIVES.get(row["call"], (Act.COMPUTE, ""))
        if act in (Act.ALLTOALL, Act.ALLTOALLV, Act.REDUCE, Act.ALLREDUCE):
            found[act.name, "bytes"] += row["bytes"]
    return found


def scripted_counts(path: Path) -> Counted:
    """The same of a script, from its actions alone."""
    raw = path.read_bytes()
    found: Counted = Counter()
    for part in np.frombuffer(raw, PART, RANKS, HEAD.itemsize):
        for action in np.frombuffer(raw, ACTION, part["actions"], part["first_action"]):
            act = Act(int(action["act"]))
            if act in (Act.COMPUTE, Act.WAIT):
                continue
            name = act.name.removeprefix("I") if act in (Act.ISEND, Act.IRECEIVE) else act.name
            found[name, "calls"] += 1
            if name in SINGLE:
                found[name, "bytes"] += int(action["bytes"] if name == "SEND" else action["received"])
            elif act is Act.ALLTOALL:  # of equal blocks: on this rank's communicator
                found[name, "bytes"] += int(action["bytes"]) * members(raw, action)
            elif act in (Act.ALLTOALLV, Act.REDUCE, Act.ALLREDUCE):
                found[name, "bytes"] += int(action["bytes"])
    return found


def members(raw: bytes, action: np.void) -> int:
    """Members of an action's communicator; all layers' communicators of these programs have all or half the ranks."""
    if action["comm"] <= 0:
        return RANKS if action["comm"] == 0 else 1
    start = HEAD.itemsize + RANKS * PART.itemsize + (int(action["comm"]) - 1) * RANKS * 8
    colours = np.frombuffer(raw, "<i4", 2 * RANKS, start)[::2]
    sizes = {int((colours == colour).sum()) for colour in colours if colour >= 0}
    assert len(sizes) == 1
    return sizes.pop()


def replayed(folder: Path, capfd: pytest.CaptureFixture[str]) -> float:
    """Replay the trace in a folder on a simulated machine; the replay's time over the traced one."""
    (folder / "four.toml").write_text(MACHINE)
    words = ["replay", str(folder / "run"), "--on", str(folder / "four.toml"), "--into", str(folder / "again")]
    assert main([*words, "--nodes", "4"]) == 0
    capfd.readouterr()
    assert scripted_counts(folder / "run" / "replay.script") == traced_counts(folder / "run")
    (cell,) = [c for c in load_view(folder / "again").plan.cells if c.kernel == "replay"]
    times = [row["median_s"] for row in load_view(folder / "again").rows if row["phase"] == "warm"]
    computed = cell.parameters["computed_ns"] / 1e9
    assert times[0] is not None
    assert times[0] >= computed > 0, "no replay is shorter than the mean of what the ranks computed"
    return times[0] / (cell.parameters["traced_ns"] / 1e9)


def needs_simgrid() -> None:
    """Skip where nothing can be simulated."""
    if shutil.which("smpicxx") is None:
        pytest.skip("SimGrid is not here: apt install libsimgrid-dev")


def test_quantum_espresso_is_replayed_message_by_message(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    needs_simgrid()
    if not Path("/usr/bin/pw.x").exists() or not PSEUDOPOTENTIALS.is_dir():
        pytest.skip("no pw.x: apt install quantum-espresso quantum-espresso-data")
    (tmp_path / "si.in").write_text(SILICON.format(pseudo=PSEUDOPOTENTIALS))
    command = [*Site("openmpi").start(RANKS), "pw.x", "-in", "si.in"]
    assert weft_trace(tmp_path, command, OMP_NUM_THREADS="1").returncode == 0
    assert replayed(tmp_path, capfd) > 0
    counts = traced_counts(tmp_path / "run")
    assert counts["ALLTOALL", "calls"] + counts["ALLTOALLV", "calls"] > 300


def test_hpcc_is_replayed_message_by_message(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    needs_simgrid()
    if not Path("/usr/bin/hpcc").exists():
        pytest.skip("no hpcc: apt install hpcc")
    example = Path("/usr/share/doc/hpcc/examples/_hpccinf.txt").read_text()
    small = re.sub(r"^1000( +Ns)", r"120\1", example, flags=re.MULTILINE)
    (tmp_path / "hpccinf.txt").write_text(re.sub(r"^80( +NBs)", r"20\1", small, flags=re.MULTILINE))
    assert weft_trace(tmp_path, [*Site("openmpi").start(RANKS), "hpcc"], OMP_NUM_THREADS="1").returncode == 0
    assert replayed(tmp_path, capfd) > 0
    counts = traced_counts(tmp_path / "run")
    assert counts["SEND", "calls"] > 1000
