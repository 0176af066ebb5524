# SPDX-License-Identifier: BSD-3-Clause
"""Flip single bits in every kind of file of a run, a trace or `weft tune`: found, or read as the same content.

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
from weft.analyse.tables.traces import has_trace_tables
from weft.analyse.trace.make import make_trace_tables
from weft.errors import WeftError
from weft.files.atomic import read_json, with_checksum, write_json
from weft.mpi.alltoall import SelectionTable, read_selection
from weft.plan.stored import HASH, hash_of, plan_of
from weft.run.refresh import checksums, refresh, stale, whole_samples
from weft.store.cells import read_cell
from weft.store.folder import Look, RunFolder, add_look, read_looks
from weft.store.links import LinkCount, links_file, read_cell_links, read_links, write_links
from weft.store.records import load_launch_record
from weft.store.trace.folder import TraceFolder, is_converted
from weft.store.trace.reader import RankTrace
from weft.trace.take import bring_in
from weft.tune.model import MachineFile, read_machine

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


def outcome_of(path: Path) -> str:
    """How a launch ended: the entries that are there, whatever a flip made of the name of their checksum."""
    read = read_json(path)
    return repr([read.get(name) for name in ("schema", "id", "returncode", "wall_s", "timed_out")])


def tables(path: Path) -> str:
    """Tables of a run: made anew where they are not those that were written; else their contents are as noted."""
    folder = RunFolder(path.parents[1])
    return "stale" if stale(folder) else repr(checksums(path.parent))


def samples(path: Path) -> str:
    """A file that tables are made of: made anew where it is not what was written."""
    folder = RunFolder(next(each for each in path.parents if each.name == "samples").parent)
    return "same" if path.name in whole_samples(folder) else "stale"


def ranks_file(path: Path) -> str:
    """A rank's file that nobody has read yet."""
    trace = RankTrace.open(path)
    found = repr([part.tobytes() for part in trace.records()]) + repr(trace.header)
    return "told" if trace.missing() else found


def converted(path: Path) -> str:
    """What a trace was converted to: made anew where it is not what was written."""
    return repr(is_converted(TraceFolder(path.parents[1])))


def answers(path: Path) -> str:
    """Tables of a trace: made anew where they are not those that were written."""
    folder = TraceFolder(path.parents[1])
    return repr(is_converted(folder) and has_trace_tables(folder))


def made_run(place: Path) -> Path:
    """A kept run whose records have checksums, as the kernels write them, and its tables."""
    folder = copy_of("exchange", place)
    for path in [*folder.glob("cells/*.json"), *folder.glob("launches/*.json")]:
        content = json.dumps(read_json(path), separators=(",", ":"))
        path.write_text(with_checksum(content), encoding="utf-8")
    noted = {HASH: hash_of((folder / "plan.json").read_bytes())}  # as each run has it now
    write_json(folder / "weft.json", read_json(folder / "weft.json") | noted)
    for launch in ("c000.l1", "c001.l1"):
        counts = [LinkCount(f"leaf{number}-spine0", "leaf0", "spine0", 1e9, 1000, 10, 0) for number in range(4)]
        write_links(links_file(folder, launch), launch, "tc", counts, {launch[:4]: counts})
    add_look(folder, Look(when="2026-01-01T00:00:00Z", busy=0.5, cores=2))
    refresh(folder)
    return folder


def made_pairs(place: Path) -> Path:
    """A kept run of pairs, whose samples have files beside them."""
    folder = copy_of("pairs", place)
    refresh(folder)
    return folder


def made_tables(place: Path) -> tuple[Path, Path]:
    """What `weft tune` writes."""
    evidence = {"median_us": 12.5, "interval_us": [11.25, 13.5], "pmpi_us": 20.5, "n": 4}
    rule = {"op": "alltoall", "nodes": [2, 8], "bytes": [1, 1024], "algorithm": "bruck{r=2}", "evidence": evidence}
    table = {"schema": "weft-tuning/1", "created": "now", "platform": {"mpi": "MPICH"}, "rules": [rule] * 5}
    SelectionTable.model_validate(table).write(place / "tuning.json")
    numbers = dict.fromkeys(("gap_s", "overhead_s", "one_way_s"), 1.25e-6)
    numbers |= dict.fromkeys(("rate_bytes_per_s", "copy_rate_bytes_per_s"), 1.2e10)
    machine = {"schema": "weft-machine/1", "fabric": "tara", "run": "r", "gap_is_limit": False, **numbers}
    MachineFile.model_validate(machine).write(place / "machine.json")
    return place / "tuning.json", place / "machine.json"


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


def kinds(place: Path) -> dict[str, tuple[list[Path], Reader]]:
    """Files of each kind, made at ``place``, and what reads them."""
    run, pairs, trace, (table, machine) = made_run(place), made_pairs(place), made_trace(place), made_tables(place)

    def launches(suffix: str) -> list[Path]:
        return sorted(
            each
            for each in run.glob("launches/*.json")
            if each.name.count(".") == 2 + bool(suffix) and suffix in each.name
        )

    claims = run / "tables" / "claims.parquet"
    of_trace = [path for path in sorted(trace.glob("tables/*")) if path.name != "converted.json"]
    return {
        "record of a cell": (sorted(run.glob("cells/*.json")), cell),
        "samples of a cell": (sorted(run.glob("cells/*.npy")), cell),
        "record of a launch": (launches(""), lambda path: repr(load_launch_record(path))),
        "links of a launch": (launches(".links"), lambda path: repr((read_links(path), read_cell_links(path)))),
        "end of a launch": (launches(".outcome"), outcome_of),
        "load of the host": ([run / "load.json"], lambda path: repr(read_looks(path.parent))),
        "plan, weft.json": ([run / "plan.json", run / "weft.json"], described),
        "tables of a run": (sorted(run.glob("tables/*")), tables),
        "claims": ([claims], tables),
        "samples of tables": (sorted(run.glob("samples/*.parquet")), samples),
        "samples of pairs": (sorted(pairs.rglob("samples/**/*.parquet")), samples),
        "rank's file": (sorted(trace.glob("raw/*.trace")), ranks_file),
        "converted trace": (
            [*trace.glob("events/*"), *trace.glob("counts/*"), trace / "tables/converted.json"],
            converted,
        ),
        "tables of a trace": (of_trace, answers),
        "table of tune": ([table], lambda path: repr(read_selection(path))),
        "machine of tune": ([machine], lambda path: repr(read_machine(path))),
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
    return "found" if read in ("stale", "False", "told") else "same" if read == expected else "wrong"


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
        chosen = kinds(place)
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
