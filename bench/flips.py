# SPDX-License-Identifier: BSD-3-Clause
"""Flip single bits in every kind of file of a run and of a trace: each is found, or reads as the same content.

    python bench/flips.py [--count 20000] [--seed 1] [--seconds 600]

Each file is read by what the verbs read it with, in this process; `tests/unit/files/test_flipped_bits.py` compares what
they print, at a second each. Ends with exit code 1 if a flip was read as other content, or if the time was too short.
"""

import argparse
import contextlib
import json
import shutil
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "src"))
sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))

from made.kept import copy_of
from made.traces import MadeRank
from weft.analyse.trace.make import make_trace_tables
from weft.errors import WeftError
from weft.files.atomic import read_json, write_json
from weft.files.checksum import with_checksum
from weft.plan.stored import HASH, hash_of, plan_of
from weft.run.refresh import checksums, refresh, stale
from weft.store.cells import read_cell
from weft.store.folder import RunFolder
from weft.store.records import load_launch_record
from weft.store.trace.folder import TraceFolder, is_converted
from weft.store.trace.reader import RankTrace
from weft.trace.take import bring_in

Reader = Callable[[Path], Any]


def cell(path: Path) -> str:
    """A cell, by either of its files."""
    name, _, launch = path.stem.partition(".l")
    found = read_cell(RunFolder(path.parents[1]), name, int(launch))
    return repr(found.record) + ("" if found.samples is None else found.samples.tobytes().hex())


def described(path: Path) -> str:
    """A run by its plan and description."""
    folder = RunFolder.open(path.parent)
    return repr(plan_of(folder)) + json.dumps(read_json(folder.meta), sort_keys=True)


def tables(path: Path) -> str:
    """Tables of a run: made anew where they are not those that were written; else their contents are as noted."""
    folder = RunFolder(path.parents[1])
    return "stale" if stale(folder) else repr(checksums(path.parent))


def ranks_file(path: Path) -> str:
    """A rank's file that nobody has read yet."""
    trace = RankTrace.open(path)
    found = repr([part.tobytes() for part in trace.records()]) + repr(trace.header)
    return "told" if trace.damage.sentence(trace.header) else found


def converted(path: Path) -> str:
    """What a trace was converted to: made anew where it is not what was written."""
    return repr(is_converted(TraceFolder(path.parents[1])))


def made_run(place: Path) -> Path:
    """A kept run whose records have checksums, as the kernels write them, and its tables."""
    folder = copy_of("exchange", place)
    for path in [*folder.glob("cells/*.json"), *folder.glob("launches/*.json")]:
        content = json.dumps(read_json(path), separators=(",", ":"))
        path.write_text(with_checksum(content), encoding="utf-8")
    noted = {HASH: hash_of((folder / "plan.json").read_bytes())}  # as each run has it now
    write_json(folder / "weft.json", read_json(folder / "weft.json") | noted)
    refresh(folder)
    return folder


def made_trace(place: Path) -> Path:
    """A trace of two ranks, converted."""
    folder = TraceFolder(place / "trace")
    for rank in range(2):
        made = MadeRank(rank, 2).site(1, "f+0x2").call("MPI_Send", 0, 1000, peer=1 - rank, bytes=64, site=1)
        made.call("MPI_Alltoallv", 2000, 3000 + rank, bytes=8, received=8).counts([3, 5]).write(folder.raw)
    folder.describe(command="mpirun")
    bring_in(folder)
    make_trace_tables(folder)
    return folder.path


def kinds(run: Path, trace: Path) -> dict[str, tuple[list[Path], Reader]]:
    """Files of each kind, and what reads them."""
    launches = [each for each in sorted(run.glob("launches/*.json")) if len(each.suffixes) == 2]
    stamped = [*trace.glob("events/*.parquet"), *trace.glob("counts/*.parquet")]
    return {
        "record of a cell": (sorted(run.glob("cells/*.json")), cell),
        "samples of a cell": (sorted(run.glob("cells/*.npy")), cell),
        "record of a launch": (launches, lambda path: repr(load_launch_record(path))),
        "plan, weft.json": ([run / "plan.json", run / "weft.json"], described),
        "tables of a run": (sorted(run.glob("tables/*.parquet")), tables),
        "rank's file": (sorted(trace.glob("raw/*.trace")), ranks_file),
        "converted trace": (stamped, converted),
    }


def outcome(path: Path, byte: int, bit: int, reader: Reader, expected: str) -> str:
    """What comes of one flip: `found`, `same` or `wrong`."""
    whole = path.read_bytes()
    path.write_bytes(whole[:byte] + bytes([whole[byte] ^ 1 << bit]) + whole[byte + 1 :])
    try:
        read = reader(path)
    except WeftError:
        return "found"
    finally:
        path.write_bytes(whole)
    return "same" if read == expected else "found" if read in ("stale", "False", "told") else "wrong"


def main() -> int:
    """Flip bits of all kinds in turn."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=20_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=600)
    given = parser.parse_args()
    place, rng, done = Path(tempfile.mkdtemp(prefix="weft-flips")), np.random.default_rng(given.seed), 0
    found: Counter[tuple[str, str]] = Counter()
    with contextlib.ExitStack() as stack:
        stack.callback(shutil.rmtree, place, ignore_errors=True)
        chosen = {name: each for name, each in kinds(made_run(place), made_trace(place)).items() if each[0]}
        expected: dict[Path, str] = {path: reader(path) for paths, reader in chosen.values() for path in paths}
        until = time.monotonic() + given.seconds
        while done < given.count and time.monotonic() < until:
            name = list(chosen)[done % len(chosen)]
            paths, reader = chosen[name]
            path = paths[int(rng.integers(len(paths)))]
            byte, bit = int(rng.integers(path.stat().st_size)), int(rng.integers(8))
            came = outcome(path, byte, bit, reader, expected[path])
            found[name, came] += 1
            done += 1
            if came == "wrong":
                print(f"wrong: {path.relative_to(place)}, byte {byte}, bit {bit}", flush=True)
    for name in chosen:
        print(f"{name:20}" + "".join(f"{found[name, came]:8,} {came}" for came in ("found", "same", "wrong")))
    wrong = sum(count for (_, came), count in found.items() if came == "wrong")
    print(f"{done:,} flips of {given.count:,}, seed {given.seed}: {wrong} read as other content")
    return int(wrong > 0 or done < given.count)


if __name__ == "__main__":
    sys.exit(main())
