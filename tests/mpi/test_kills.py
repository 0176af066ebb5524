# SPDX-License-Identifier: BSD-3-Clause
"""SIGKILL of weft, of mpiexec, of one rank, at random moments: at most the cell under way is lost."""

import json
import os
import random
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from real_weft import Weft, eventually, processes, processes_below, working_on

from weft.store.cells import read_cell

VICTIMS = ("weft", "mpiexec", "rank")


def victims(weft: int) -> dict[str, list[int]]:
    """Processes of a running weft by what they are: its keeper's child is mpiexec, and ranks run weft-measure."""
    found = processes()
    keepers = [pid for pid, (parent, words) in found.items() if parent == weft and "keeper.py" in words]
    starters = [pid for pid, (parent, _) in found.items() if parent in keepers]
    below = set(starters)
    for _ in range(4):  # a starter's daemon may stand between it and the ranks
        below |= {pid for pid, (parent, _) in found.items() if parent in below}
    ranks = [pid for pid in below - set(starters) if Path(found[pid][1].split(" ")[0]).name == "weft-measure"]
    return {"weft": [weft], "mpiexec": starters, "rank": ranks}


def segments(pids: list[int]) -> set[str]:
    """Shared memory files that processes have mapped."""
    found: set[str] = set()
    for pid in pids:
        try:
            lines = Path(f"/proc/{pid}/maps").read_text().splitlines()
        except OSError:
            continue
        found |= {line.split()[5] for line in lines if " /dev/shm/" in line and len(line.split()) == 6}
    return found


def kill_one(weft: Weft, process: subprocess.Popen[str], what: str, delay_s: float) -> set[str] | None:
    """Wait for a launch, then a random while, then kill; returns what its ranks shared, None where weft has ended."""
    assert eventually(lambda: process.poll() is not None or bool(victims(process.pid)["mpiexec"]), 60)
    time.sleep(delay_s)
    eventually(lambda: process.poll() is not None or bool(victims(process.pid)[what]), 60)
    if process.poll() is not None:
        return None
    there = victims(process.pid)
    if not there[what]:
        return None
    shared = segments(there["rank"])
    try:
        os.kill(random.choice(there[what]), signal.SIGKILL)
    except ProcessLookupError:
        return None
    return shared


def test_after_a_kill_of_everything_the_next_run_removes_its_shared_memory(make: Callable[..., Weft]) -> None:
    weft = make(launches=3, WEFT_PLANT="hang:c001")
    process = weft.start()
    assert eventually(lambda: bool(list(weft.folder.glob("launches/c001.l*.json"))), 60)
    shared = segments(victims(process.pid)["rank"])
    assert shared, "Open MPI keeps one file a rank in /dev/shm, MPICH one a node"
    family = [process.pid, *processes_below(process.pid)]
    for number in (signal.SIGSTOP, signal.SIGKILL):  # stopped first, so that nobody can clean up
        for pid in family:
            os.kill(pid, number)
    process.communicate(timeout=30)
    assert eventually(lambda: not working_on(weft.folder)), working_on(weft.folder)
    weft.environment = {}
    assert weft.run().returncode == 0
    assert not [name for name in shared if Path(name).exists()]
    weft.nothing_is_left()


@pytest.mark.parametrize(("most", "launches"), [(6, 5), pytest.param(20, 14, marks=pytest.mark.long)])
def test_kills_at_random_moments_lose_at_most_the_cell_under_way(
    most: int, launches: int, make: Callable[..., Weft]
) -> None:
    weft = make(launches=launches)
    dice = random.Random(2026)
    kills = dict.fromkeys(VICTIMS, 0)
    kept: dict[str, tuple[bytes, bytes]] = {}
    shared: set[str] = set()
    process = weft.start()
    while sum(kills.values()) < most:
        if process.poll() is not None:
            process = weft.start()  # the same command
        what = VICTIMS[sum(kills.values()) % len(VICTIMS)]
        seen = kill_one(weft, process, what, dice.uniform(0.0, 0.6))
        if seen is None:
            assert process.poll() is None or len(weft.finished()) < 4 * launches, "the study ended too soon"
            continue
        kills[what] += 1
        shared |= seen
        if what == "weft":
            process.communicate(timeout=30)
            assert eventually(lambda: not working_on(weft.folder)), working_on(weft.folder)
        # that of a launch which was killed in the floor after it is measured again, with the floor
        ended = {path: json.loads(path.read_text()) for path in weft.folder.glob("launches/*.outcome.json")}
        ends = {path.name.removesuffix(".outcome.json") for path, each in ended.items() if each["returncode"] == 0}
        now = {name: each for name, each in weft.finished().items() if name.replace("f", "c") in ends}
        assert kept.items() <= now.items(), "a finished cell has changed or is gone"
        assert not any(name not in now and name in kept for name in kept)
        kept = now
    _, err = process.communicate(timeout=120)
    assert "Traceback" not in err
    failed = [name for name, status in weft.statuses().items() if status != "ok"]
    assert len(failed) <= kills["mpiexec"] + kills["rank"], "more cells were lost than launches were killed"
    assert kept.items() <= weft.finished().items()
    last = weft.run()
    assert last.returncode == 0, last.stderr
    assert kept.items() <= weft.finished().items()
    assert len(weft.finished()) == 4 * launches
    for name in weft.finished():
        cell, _, launch = name.partition(".l")
        read_cell(weft.folder, cell, int(launch))
    assert not list(weft.folder.rglob("*.part"))
    weft.nothing_is_left()
    assert not [name for name in shared if Path(name).exists()]
