# SPDX-License-Identifier: BSD-3-Clause
"""Kills under a live Slurm of four nodes, all of them this host: who can be killed there, and how (bench/kills.py).

A daemon of Slurm that is killed is started again a second later; slurmctld then knows nothing of the jobs from before.
"""

import os
import random
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from real_weft import ROOT, STUDY, Weft, eventually, processes, processes_below

from weft.launch.slurm_here import CORES, SETTINGS, RootlessSlurm, fabric_text

VICTIMS = ("weft", "srun", "rank", "slurmstepd", "scancel", "slurmctld", "slurmd")
DAEMONS = ("slurmctld", "slurmd")
SHORT = (("1 s", "200 ms"), ("1 h", "10 min"))


@dataclass
class WeftUnderSlurm(Weft):
    """The command line inside the namespaces of a live Slurm, each launch a step of its job."""

    slurm: RootlessSlurm | None = None
    fabric: Path = field(default_factory=Path)

    @property
    def cluster(self) -> RootlessSlurm:
        """The Slurm that is up."""
        assert self.slurm is not None
        return self.slurm

    def command(self) -> list[str]:
        """Words of ``weft run``, from outside the namespaces."""
        words = super().command()
        words[words.index("local")] = str(self.fabric)
        given = {"PYTHONPATH": str(ROOT / "src"), "WEFT_MPICXX": str(self.mpicxx), **self.cluster.environment()}
        kept = {name: given[name] for name in ("PYTHONPATH", "WEFT_MPICXX", "SLURM_CONF", "PATH", *SETTINGS)}
        place = f"--chdir={self.study.parent}"
        return self.cluster.inside("env", place, *(f"{name}={value}" for name, value in kept.items()), *words)

    def jobs(self) -> list[str]:
        """Ids of the jobs that are not over."""
        return self.cluster.run("squeue", "--noheader", "--format", "%A").stdout.split()


def victims(weft: Weft, process: subprocess.Popen[str]) -> dict[str, list[int]]:
    """Processes by what they are: weft itself is the child of nsenter."""
    # below this process alone: daemons and ranks of somebody else's Slurm on this host have the same names
    every = processes()
    found = {pid: every[pid] for pid in processes_below(os.getpid()) if pid in every}
    named = {pid: Path(words.split(" ")[0].rstrip(":")).name for pid, (_, words) in found.items() if words}
    return {
        "weft": [pid for pid, (parent, words) in found.items() if parent == process.pid and str(weft.folder) in words],
        "srun": [pid for pid, name in named.items() if name == "srun"],
        # of a step: that of the batch script itself is missed by Slurm's controller after minutes only
        "slurmstepd": [pid for pid, name in named.items() if name == "slurmstepd" and ".batch]" not in found[pid][1]],
        "rank": [pid for pid, name in named.items() if name == "weft-measure"],
        **{daemon: [pid for pid, name in named.items() if name == daemon] for daemon in DAEMONS},
    }


def kill_one(weft: WeftUnderSlurm, process: subprocess.Popen[str], what: str, delay_s: float) -> bool:
    """Wait for ranks, then a random while, then kill, or cancel the job; False where weft has ended before."""
    eventually(lambda: process.poll() is not None or bool(victims(weft, process)["rank"]), 120)
    time.sleep(delay_s)
    if what == "scancel":
        return process.poll() is None and bool(jobs := weft.jobs()) and _done(weft.cluster.run("scancel", *jobs))
    eventually(lambda: process.poll() is not None or bool(victims(weft, process)[what]), 60)
    there = victims(weft, process)[what]
    if process.poll() is not None or not there:
        return False
    chosen = random.choice(there)
    words = processes().get(chosen, (0, ""))[1]
    try:
        os.kill(chosen, signal.SIGKILL)
    except ProcessLookupError:
        return False
    if what in DAEMONS:  # as systemd would, a moment later; with its output closed, which a daemon would hold
        time.sleep(1.0)
        weft.cluster.run("sh", "-c", f"{words} >/dev/null 2>&1")
    return True


def _done(process: subprocess.CompletedProcess[str]) -> bool:
    return process.returncode == 0


def make(slurm: RootlessSlurm, place: Path, launches: int, mpicxx: Path) -> WeftUnderSlurm:
    """A small study in a new folder."""
    study, fabric, temporary = place / "small.toml", place / "slurm.toml", place / "t"
    # Slurm's srun waits for a slurmstepd that was killed until the launch's limit ends it
    study.write_text(STUDY.format(launches=launches, limit="10 s").replace("nodes = 1", "nodes = [1, 2]"))
    text = fabric_text(CORES)
    for name, value in SHORT:
        text = text.replace(f'"{name}"', f'"{value}"')
    fabric.write_text(text)
    temporary.mkdir()
    return WeftUnderSlurm(study, place / "run", mpicxx, temporary, slurm=slurm, fabric=fabric)


def end(weft: Weft, process: subprocess.Popen[str]) -> None:
    """Interrupt weft, and leave its job in the queue; the process that is seen here is nsenter's."""
    for pid in victims(weft, process)["weft"]:
        os.kill(pid, signal.SIGTERM)


def left(weft: WeftUnderSlurm) -> int:
    """Jobs that are not over."""
    return len(weft.jobs())


@contextmanager
def cluster(mpicxx: Path) -> Generator[Callable[[Path, int], WeftUnderSlurm]]:
    """A live Slurm, as what makes a small study with so many launches in a folder."""
    with tempfile.TemporaryDirectory(prefix="wslurm") as folder, RootlessSlurm(Path(folder)) as slurm:
        yield lambda place, launches: make(slurm, place, launches, mpicxx)
