# SPDX-License-Identifier: BSD-3-Clause
"""A conversion that is killed at any of its writes: the same command afterwards makes the trace whole."""

import shutil
import subprocess
import sys
from pathlib import Path

import pyarrow.parquet as pq

from made.traces import MadeRank
from weft.store.trace.folder import TRACE_RANKS, TraceFolder, is_converted
from weft.trace.take import bring_in

# One process for all kills: each is of a child that shares what was imported.
KILLING = """
import os, signal, sys
from pathlib import Path
import pyarrow.parquet as pq
from weft.store.trace.folder import TraceFolder
from weft.trace.take import bring_in

real = pq.ParquetWriter.write_table
for number, place in enumerate(sys.argv[1:], 1):
    if os.fork() == 0:
        written = 0
        def write_table(*given, **named):
            global written
            real(*given, **named)
            written += 1
            if written == number:
                os.kill(os.getpid(), signal.SIGKILL)
        pq.ParquetWriter.write_table = write_table
        bring_in(TraceFolder(Path(place)))
        os._exit(0)
    _, status = os.wait()
    print("killed" if os.WIFSIGNALED(status) else "ended")
"""
WRITES = 10
"""Three ranks' events and counts, communicators, members, call sites, ranks."""


def contents(folder: TraceFolder) -> dict[str, object]:
    """Every Parquet file of a trace by its name, as rows."""
    files = [*folder.events.glob("*"), *folder.counts.glob("*"), *folder.tables.glob("*.parquet")]
    return {str(file.relative_to(folder.path)): pq.read_table(file).to_pylist() for file in files}


def test_a_killed_conversion_is_made_whole_by_the_same_command(tmp_path: Path) -> None:
    first = TraceFolder(tmp_path / "0")
    for rank in range(3):
        made = MadeRank(rank, 3).communicator(3, 2**63 + 7, [2, 1, 0]).site(1, f"f+{rank}")
        made.call("MPI_Alltoallv", 10, 20, comm=3, site=1).counts([1, 2, 3], comm=3).write(first.raw)
    folders = [TraceFolder(tmp_path / str(number)) for number in range(WRITES + 2)]
    for folder in folders[1:]:
        shutil.copytree(first.path, folder.path)
    bring_in(first)
    whole = contents(first)
    assert {"tables/trace_ranks.parquet", "events/0000000.parquet", "counts/0000000.parquet"} <= set(whole)
    words = [sys.executable, "-c", KILLING, *(str(folder.path) for folder in folders[1:])]
    done = subprocess.run(words, capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["killed"] * WRITES + ["ended"]
    for folder in folders[1:-1]:
        assert not is_converted(folder)
        assert not TRACE_RANKS.path(folder.path).exists()
        bring_in(folder)
        assert contents(folder) == whole
        assert not list(folder.path.rglob("*.part"))
