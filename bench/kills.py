# SPDX-License-Identifier: BSD-3-Clause
"""Kill real runs, and fill their disks, at random moments; count what was lost. Needs an MPI, and root for the disks.

    python bench/kills.py [--kills 60] [--launches 6] [--disks 6] [--quotas 6] [--seed 1] [--mpicxx mpicxx] [--on slurm]

A kill is SIGKILL of weft, of mpiexec or of one rank, in turn; then the same command goes on. A disk is a file system of
a few hundred KiB that runs full in mid-run, gets room, and the same command goes on. A quota is that of a folder on a
large disk (btrfs, in a file; needs btrfs-progs). With `--on slurm` a kill is one of weft, of srun, of a rank, of a
step's slurmstepd or of Slurm's daemons, which are started again, or the job is cancelled, under a live Slurm of four
nodes made here (needs root); the job of a weft that was killed goes on, and the same command follows it. Ends with exit
code 1 where a finished cell was changed or lost, a file under a final name was torn, or something was left behind.
"""

import argparse
import os
import platform
import random
import subprocess
import sys
import tempfile
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "src"), str(ROOT / "tests"), str(ROOT / "tests" / "mpi")]

import kills_slurm  # noqa: E402
from real_weft import STUDY, Weft, eventually, working_on  # noqa: E402
from test_kills import VICTIMS, kill_one  # noqa: E402

from weft.cli.signals import heed_signals  # noqa: E402
from weft.errors import WeftError  # noqa: E402
from weft.launch.build import build_kernels  # noqa: E402
from weft.mpi.library import find_mpi  # noqa: E402
from weft.store.cells import finished_cells, read_cell  # noqa: E402

SIZES_KIB = (160, 240, 320, 400, 560, 720)


def torn(folder: Path) -> int:
    """Cells under a final name that cannot be read."""
    count = 0
    for cell, launch in finished_cells(folder):
        try:
            read_cell(folder, cell, launch)
        except WeftError:
            count += 1
    return count


def lost(before: dict[str, tuple[bytes, bytes]], now: dict[str, tuple[bytes, bytes]]) -> int:
    """Finished cells that are gone or changed."""
    return sum(now.get(name) != content for name, content in before.items())


@dataclass(frozen=True)
class Way:
    """Who is killed on a kind of machine, and what is to be done around it."""

    victims: tuple[str, ...]
    kill: Callable[[Any, subprocess.Popen[str], str, float], object]
    """Kills one of them; None or False where weft has ended before."""
    end: Callable[[Any, subprocess.Popen[str]], None]
    left: Callable[[Any], int]
    """What is not over."""


LOCAL = Way(VICTIMS, kill_one, lambda _, process: process.terminate(), lambda weft: len(working_on(weft.folder)))


SLURM = Way(kills_slurm.VICTIMS, kills_slurm.kill_one, kills_slurm.end, kills_slurm.left)


def kills(
    make: Callable[[Path, int], Weft], wanted: int, dice: random.Random, launches: int, way: Way = LOCAL
) -> dict[str, int]:
    """So many kills, over as many runs of so many launches as they need."""
    counts = {**dict.fromkeys(way.victims, 0), "runs": 0, "cells": 0, "lost": 0, "torn": 0, "left": 0}
    while sum(counts[what] for what in way.victims) < wanted:
        with tempfile.TemporaryDirectory(prefix="weft-kills") as place:
            weft = make(Path(place), launches)
            counts["runs"] += 1
            kept: dict[str, tuple[bytes, bytes]] = {}
            for _ in range(20):
                what = way.victims[sum(counts[each] for each in way.victims) % len(way.victims)]
                process = weft.start()
                killed = way.kill(weft, process, what, dice.uniform(0.0, 0.6)) not in (None, False)
                counts[what] += killed
                print(
                    f"run {counts['runs']}: {what} {'killed' if killed else 'had ended'}", file=sys.stderr, flush=True
                )
                if what != "weft" and process.poll() is None:
                    way.end(weft, process)
                process.communicate(timeout=120)
                if way is LOCAL:  # a job goes on, and is followed
                    eventually(lambda weft=weft: not way.left(weft))
                now = weft.finished()
                counts["lost"] += lost(kept, now)
                kept = now
                if not killed or sum(counts[each] for each in way.victims) >= wanted:
                    break
            weft.run(300)
            counts["lost"] += lost(kept, weft.finished())
            counts["cells"] += len(weft.finished())
            counts["torn"] += torn(weft.folder)
            counts["left"] += way.left(weft) + len(list(weft.folder.rglob("*.part")))
    return counts


def run_command(*words: object) -> None:
    """Run a command of the system; its failure ends this program."""
    subprocess.run([str(word) for word in words], check=True, stdout=subprocess.DEVNULL)


@contextmanager
def small_disk(place: Path, size_kib: int) -> Generator[tuple[Path, Callable[[], None]]]:
    """A folder on a disk of that size, and what gives it room."""
    disk = place / "disk"
    disk.mkdir()
    run_command("mount", "-t", "tmpfs", "-o", f"size={size_kib}k", "tmpfs", disk)
    try:
        yield disk, lambda: run_command("mount", "-o", "remount,size=64m", disk)
    finally:
        run_command("umount", "-l", disk)


@contextmanager
def small_quota(place: Path, size_kib: int) -> Generator[tuple[Path, Callable[[], None]]]:
    """A folder on a large disk that may hold that much, and what raises its quota; needs btrfs-progs."""
    image, disk = place / "image", place / "disk"
    image.touch()
    os.truncate(image, 300 << 20)
    disk.mkdir()
    run_command("mkfs.btrfs", "-q", image)
    run_command("mount", "-o", "loop", image, disk)
    try:
        own = disk / "own"
        for words in (
            ["subvolume", "create", own],
            ["quota", "enable", disk],
            ["qgroup", "limit", f"{size_kib}k", own],
        ):
            run_command("btrfs", *words)
        yield own, lambda: run_command("btrfs", "qgroup", "limit", "64M", own)
    finally:
        run_command("umount", "-l", disk)


FULL = {"disks": (small_disk, "the disk is full"), "quotas": (small_quota, "the quota is used up")}


def disks(make: Callable[[Path, int], Weft], wanted: int, kind: str = "disks") -> dict[str, int]:
    """So many disks or quotas that run full."""
    counts = {kind: 0, "filled": 0, "lost": 0, "torn": 0, "went on": 0}
    medium, said = FULL[kind]
    for size in SIZES_KIB[:wanted]:
        with tempfile.TemporaryDirectory(prefix="weft-disks") as place, medium(Path(place), size) as (disk, give_room):
            weft = make(Path(place), 4)
            weft.folder = disk / "run"
            first = weft.run(300)
            counts[kind] += 1
            counts["filled"] += first.returncode == 1 and said in first.stderr
            counts["torn"] += torn(weft.folder)
            before = weft.finished()
            give_room()
            counts["went on"] += weft.run(300).returncode == 0
            counts["lost"] += lost(before, weft.finished())
    return counts


def main() -> int:
    """Kill, fill, and print what was lost."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kills", type=int, default=60)
    parser.add_argument("--disks", type=int, default=len(SIZES_KIB))
    parser.add_argument("--quotas", type=int, default=0)
    parser.add_argument("--launches", type=int, default=6)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--mpicxx")
    parser.add_argument("--on", choices=("local", "slurm"), default="local")
    given = parser.parse_args()
    heed_signals()  # a Slurm or a disk that is up here goes with this program
    mpi = find_mpi(given.mpicxx)
    build_kernels(mpi)  # else the first run would be killed while it compiles

    def make(place: Path, launches: int) -> Weft:
        study, temporary = place / "small.toml", place / "t"
        study.write_text(STUDY.format(launches=launches, limit="20 s"))
        temporary.mkdir()
        return Weft(study, place / "run", mpi.wrapper, temporary)

    dice = random.Random(given.seed)
    if given.on == "slurm":
        with kills_slurm.cluster(mpi.wrapper) as make_there:
            return told_of(kills(make_there, given.kills, dice, given.launches, SLURM))
    killed = kills(make, given.kills, dice, given.launches) if given.kills else {}
    filled = disks(make, given.disks) if given.disks else {}
    used_up = disks(make, given.quotas, "quotas") if given.quotas else {}
    print(f"{platform.machine()}, {mpi.wrapper}")
    return told_of(killed, filled, used_up)


def told_of(*counted: dict[str, int]) -> int:
    """Print what was counted, and return the exit code."""
    for words in counted:
        print(", ".join(f"{name} {count}" for name, count in words.items()))
    return 1 if any(words.get(name) for words in counted for name in ("lost", "torn", "left")) else 0


if __name__ == "__main__":
    sys.exit(main())
