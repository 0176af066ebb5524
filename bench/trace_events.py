# SPDX-License-Identifier: BSD-3-Clause
"""What a large trace costs: makes one, converts it, makes its tables; seconds of processor and peak memory of each.

    python bench/trace_events.py --events 50e6 --ranks 64 [--folder DIR] [--engine duckdb://]

Each rank exchanges with its neighbours, waits, and joins an all-reduction: ten records a round. Each step is a process
of its own, so that its peak memory is its own.
"""

import argparse
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

from weft.store.trace.folder import TraceFolder
from weft.store.trace.layout import COMPLETE, NUMBERS, RECORD, RECORD_BYTES, WORLD, Flag, RankFile

ROUND = ("MPI_Irecv", "MPI_Irecv", "MPI_Isend", "MPI_Isend", "MPI_Waitall", *4 * ["completion"], "MPI_Allreduce")
AT_ONCE = 100_000
CLOSED = 1 | 8 | 16


def write_rank(folder: Path, rank: int, ranks: int, rounds: int) -> None:
    """Write the file of a rank: rounds in a row, each 100 us after the other."""
    one: Any = np.zeros(len(ROUND), RECORD)
    one["call"] = [COMPLETE if name == "completion" else NUMBERS[name] for name in ROUND]
    after, before = (rank + 1) % ranks, (rank - 1) % ranks
    one["peer"] = [before, after, after, before, -1, before, after, after, before, -1]
    one["comm"] = [WORLD, WORLD, WORLD, WORLD, 0, WORLD, WORLD, WORLD, WORLD, WORLD]
    one["bytes"] = [0, 0, 8192, 8192, 0, 0, 0, 8192, 8192, 8]
    one["received"] = [8192, 8192, 0, 0, 0, 8192, 8192, 0, 0, 8]
    one["request"] = [1, 2, 3, 4, 0, 1, 2, 3, 4, 0]
    one["flags"] = np.where((one["received"] == 8192), int(Flag.RECEIVE), 0)
    begin = np.array([0, 1, 2, 3, 10, 10, 10, 10, 10, 50]) * 1000 + rank * 7
    length = np.array([1, 1, 1, 1, 30, 30, 30, 30, 30, 40]) * 1000 - rank * 7 % 500
    with RankFile(folder, rank, ranks, state=CLOSED, host=b"made", library=b"made") as file:
        for first in range(0, rounds, AT_ONCE):
            number = np.arange(first, min(rounds, first + AT_ONCE))
            piece = np.tile(one, len(number)).reshape(len(number), len(ROUND))
            piece["begin_ns"] = begin + 100_000 * number[:, None]
            piece["end_ns"] = piece["begin_ns"] + length
            piece["request"] = np.where(one["request"] > 0, one["request"] + 4 * number[:, None].astype(np.uint64), 0)
            file.records.append(piece.tobytes())
            file.flush()


def measured(step: str, folder: Path, engine: str) -> tuple[float, float, float]:
    """Seconds, seconds of processor and peak GiB of a step, in a process of its own."""
    began = time.perf_counter()
    words = [sys.executable, __file__, "--step", step, "--folder", str(folder), "--engine", engine]
    said = subprocess.run(words, stdout=subprocess.PIPE, encoding="utf-8", errors="replace", check=True).stdout.split()
    return time.perf_counter() - began, float(said[0]), float(said[1])


def run_step(step: str, folder: TraceFolder, engine: str) -> None:
    """Convert the trace, or make its tables; what it used is printed."""
    if step == "convert":
        from weft.store.trace.convert import convert_trace

        convert_trace(folder)
    else:
        from weft.analyse.trace.make import make_trace_tables

        make_trace_tables(folder, engine)
    used = resource.getrusage(resource.RUSAGE_SELF)
    print(used.ru_utime + used.ru_stime, peak_gib())


def peak_gib() -> float:
    """Peak memory of this program; that of getrusage may be of the process that started it."""
    (line,) = (
        line for line in Path("/proc/self/status").read_text(encoding="utf-8").splitlines() if line.startswith("VmHWM:")
    )
    return int(line.split()[1]) / 2**20


def main() -> None:
    """Make, convert and show a trace; a line a step."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--events", type=float, default=5e6)
    parser.add_argument("--ranks", type=int, default=16)
    parser.add_argument("--folder", type=Path)
    parser.add_argument("--engine", default="duckdb://")
    parser.add_argument("--step", choices=("convert", "show"))
    asked = parser.parse_args()
    if asked.step:
        run_step(asked.step, TraceFolder(asked.folder), asked.engine)
        return
    if asked.folder:
        asked.folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=asked.folder) as name:
        folder = TraceFolder(Path(name))
        rounds = max(1, int(asked.events / asked.ranks / len(ROUND)))
        for rank in range(asked.ranks):
            write_rank(folder.raw, rank, asked.ranks, rounds)
        folder.describe()
        events = rounds * asked.ranks * len(ROUND)
        print(f"{events:,} records of {asked.ranks} ranks, {events * RECORD_BYTES / 1e9:.2f} GB", flush=True)
        for step in ("convert", "show"):
            wall, processor, peak = measured(step, folder.path, asked.engine)
            million = events / 1e6
            said = f"{step}: {wall:.1f} s, {processor / million:.2f} s of processor a million, peak {peak:.2f} GiB"
            print(said, flush=True)
            for file in folder.raw.iterdir():  # of 500 million records 32 GB, which the disk may need for the tables
                file.unlink()


if __name__ == "__main__":
    main()
