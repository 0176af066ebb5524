# SPDX-License-Identifier: BSD-3-Clause
"""What the analysis of half a thousand million samples of pairs costs: 1024 ranks squared, 2 sizes, 239 iterations.

    python bench/pairs_analysis.py [--ranks 1024] [--iterations 239] [--folder DIR] [--exact] [--engine URL ...]

Generates the samples as the store lays them out (about 1 GB, some minutes, removed at the end), then measures in a
process of its own: the hop table, the histogram by hop class and the matrix of node medians, from reading the Parquet
files to the tables. Goal: at most 5 s of processor time (user and system, all threads) and 0.5 GiB of memory on two
cores; exit code 1 if it is missed.
``--engine duckdb:// spark://local[2]`` measures the same histogram as an Ibis expression on each of these engines, with
the processes that it starts (workers of spark://HOST are none), and how many times the first one's processor time the
others take; ``--exact`` the exact quantiles.
``--files 8`` analyses so many of the 64 files alone, without a verdict.
"""

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from weft.analyse.pairs.places import Places, locate
from weft.fabric.model import Fabric
from weft.store.pair_layout import PLACE, RUNS, RUNS_SCHEMA, rows_of
from weft.store.pairs import write_samples
from weft.store.tables import ROW_GROUP, write_parquet

SIZES = (0, 262_144)
PER_NODE, PER_LEAF, LEAVES_PER_POD = 16, 8, 4
GOAL_S, GOAL_BYTES = 5.0, 1 << 29


def places_for(ranks: int) -> Places:
    """A tree of three levels with 16 ranks on each node."""
    nodes = ranks // PER_NODE
    tree = {"nodes_per_leaf": PER_LEAF, "uplinks": 8, "leaves_per_pod": LEAVES_PER_POD, "pod_uplinks": 32}
    network = {"topology": "fat-tree", "adapter_rate": "6.8 GB/s", "tree": tree | {"link_rate": "6.8 GB/s"}}
    node = {"names": f"n[{0:04}-{nodes - 1:04}]", "cores": PER_NODE}
    fabric = Fabric.model_validate({"name": "bench", "kind": "simulated", "node": node, "network": network})
    every = np.arange(ranks, dtype=np.int32)
    return locate(fabric.hosts, every // PER_NODE, every % PER_NODE, fabric)


def generate(folder: Path, ranks: int, iterations: int) -> None:
    """Write ``samples/*.parquet``: a file for each round of nodes, as a block of rounds of the tournament gives."""
    places = places_for(ranks)
    rng = np.random.default_rng(1)
    noise = np.exp(rng.normal(0, 0.03, 1 << 22)) * (1 + (rng.random(1 << 22) < 0.01) * rng.gamma(2, 0.2, 1 << 22))
    hops = np.array(places.hops)[places.classes]
    nodes = len(places.nodes)
    for turn in range(nodes):
        name = f"c{turn:03}.parquet"
        runs = _runs(places, turn, iterations)
        write_parquet(folder / "samples" / PLACE / name, [runs], RUNS_SCHEMA, RUNS)
        write_samples(folder / "samples" / name, _rows(runs, places, hops, noise, rng))


def _runs(places: Places, turn: int, iterations: int) -> pa.RecordBatch:
    """Who meets whom while the nodes do that are ``turn`` apart."""
    nodes = len(places.nodes)
    source = np.repeat(np.arange(nodes * PER_NODE), PER_NODE)
    partner = (source // PER_NODE) ^ turn  # every two nodes meet once as the turns go round
    target = partner * PER_NODE + np.tile(np.arange(PER_NODE), nodes * PER_NODE)
    kept = (source != target) & (partner < nodes)
    source, target = (ends[kept].repeat(len(SIZES)) for ends in (source, target))
    columns = {
        "cell": f"c{turn:03}", "launch": 1, "source": source, "target": target,
        "bytes": np.tile(SIZES, len(source) // len(SIZES)), "mode": "all", "phase": "warm", "batch": 1,
        "samples": iterations,
    }  # fmt: skip
    filled = [pa.array(np.broadcast_to(columns[field.name], len(source))).cast(field.type) for field in RUNS_SCHEMA]
    return pa.RecordBatch.from_arrays(filled, schema=RUNS_SCHEMA)


def _rows(
    runs: pa.RecordBatch, places: Places, hops: np.ndarray, noise: np.ndarray, rng: np.random.Generator
) -> Iterator[pa.RecordBatch]:
    iterations: int = runs["samples"].to_pylist()[0]
    step = ROW_GROUP // iterations
    for first in range(0, len(runs), step):
        some = runs.slice(first, step)
        source, target = (some[name].to_numpy() // PER_NODE for name in ("source", "target"))
        near = np.where(source == target, 800.0, 1300.0 + 350.0 * hops[source, target])
        base = np.where(some["bytes"].to_numpy() == 0, near, 26.0 * near).repeat(iterations)
        begin = int(rng.integers(0, len(noise)))
        duration = (base * noise[(np.arange(len(base)) + begin) & (len(noise) - 1)]).astype(np.int64)
        yield rows_of(some, duration, np.zeros_like(duration))


class Work(NamedTuple):
    """What a task is given."""

    folder: Path
    ranks: int
    engine: str
    files: int

    @property
    def all_paths(self) -> list[Path]:
        """The files of samples."""
        return sorted((self.folder / "samples").glob("*.parquet"))

    @property
    def paths(self) -> list[Path]:
        """Those that are analysed."""
        return self.all_paths[: self.files]


def analyse(work: Work) -> dict[str, int]:
    """Hop table, histogram by class, matrix of node medians: what is measured."""
    import ibis

    from weft.analyse.engine import connect
    from weft.analyse.pairs.hop_tables import CLASS, class_histogram, quantiles, spread
    from weft.store.pair_scan import scan

    places = places_for(work.ranks)
    found = scan(work.paths, {(path.stem, 1): places.node_of for path in work.paths})
    backend = connect()
    histogram, classes = ibis.memtable(found), ibis.memtable(places.class_table())
    by_class = class_histogram(histogram, classes)
    hops = backend.to_pyarrow(spread(by_class).order_by(CLASS))
    medians = backend.to_pyarrow(
        quantiles(histogram, ["bytes", "mode", "source_node", "target_node"], {"median_s": 0.5})
    )
    bars = backend.to_pyarrow(by_class)
    for row in hops.to_pylist():
        times = ", ".join(f"{name} {row[name + '_s'] * 1e6:.2f}" for name in ("median", "p99"))
        print(
            f"  {row['bytes']:7} B  {places.labels[row['class_']]:18} {row['samples']:11,} samples  {times} us",
            file=sys.stderr,
        )
    return {"samples": sum(hops["samples"].to_pylist()), "bars": len(bars), "medians": len(medians)}


def by_engine(work: Work) -> dict[str, int]:
    """The histogram by nodes as the Ibis expression of `weft.analyse.pairs.pair_table`, on an engine."""
    import ibis

    from weft.analyse.engine import connect, read
    from weft.analyse.pairs.pair_table import buckets, by_node

    places = places_for(work.ranks)
    backend = connect(work.engine, work.folder)
    samples = read(backend, work.paths).mutate(launch_id=ibis.literal("l"))
    ranks_of = {"launch_id": pa.array(["l"] * work.ranks), "rank": pa.array(np.arange(work.ranks, dtype=np.int32))}
    nodes_of = pa.table({**ranks_of, "node": pa.array(np.asarray(places.node_of))})
    found = backend.to_pyarrow(by_node(buckets(samples), ibis.memtable(nodes_of)))
    if backend.name == "pyspark":  # its Java machine is a child of this process: waited for, it is counted
        gateway: Any = backend._session.sparkContext._gateway
        backend._session.stop()
        gateway.shutdown()
        gateway.proc.stdin.close()
        gateway.proc.wait(60)
    return {"samples": sum(found["count"].to_pylist()), "rows": len(found)}


def exactly(work: Work) -> dict[str, int]:
    """Exact median and p99 of each class on DuckDB, refused where they do not fit."""
    import ibis

    from weft.analyse.engine import connect, read
    from weft.analyse.pairs.hop_tables import exact_hops

    places = places_for(work.ranks)
    nodes_of, classes = ibis.memtable(places.rank_table()), ibis.memtable(places.class_table())
    samples = read(connect(), work.paths)
    samples = samples.select("source", "target", "bytes", "mode", time_s=samples.duration_ns / 1e9)
    samples = samples.inner_join(nodes_of.select(source=nodes_of["rank"], source_node=nodes_of.node), "source")
    samples = samples.inner_join(nodes_of.select(target=nodes_of["rank"], target_node=nodes_of.node), "target")
    found = exact_hops(samples.inner_join(classes, ["source_node", "target_node"])).to_pyarrow()
    return {"rows": len(found)}


TASKS = {"analyse": analyse, "engine": by_engine, "exact": exactly}


def measured(task: str, work: Work) -> tuple[float, int]:
    """Processor seconds and peak bytes of a task in a process of its own, start of Python included."""
    began, before = time.monotonic(), resource.getrusage(resource.RUSAGE_CHILDREN)
    words = ["--folder", work.folder, "--ranks", work.ranks, "--files", work.files, "--engine", work.engine]
    command = [sys.executable, __file__, "--task", task, *map(str, words)]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, encoding="utf-8", errors="replace")
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    values = json.loads(done.stdout.splitlines()[-1])
    cpu = used.ru_utime + used.ru_stime - before.ru_utime - before.ru_stime
    wall, peak = time.monotonic() - began, values.pop("peak_bytes")
    name = f"{task} on {work.engine}" if task == "engine" else task
    print(f"{name}: {cpu:.1f} s of processor time, {wall:.1f} s, peak {peak / 2**30:.2f} GiB; {values}", flush=True)
    return cpu, peak


def judge(cpu: float, peak: int, work: Work) -> bool:
    """Print whether the goal is met; it is one of all files, and not missed where some are left out."""
    if left_out := len(work.all_paths) - len(work.paths):
        print(f"no verdict: {left_out} of {len(work.all_paths)} files were left out")
        return True
    met = cpu <= GOAL_S and peak <= GOAL_BYTES
    print(f"{'within' if met else 'OUTSIDE of'} the goal of {GOAL_S:.0f} s and {GOAL_BYTES / 2**30:.1f} GiB")
    return met


def main() -> int:
    """Generate, measure, compare with the goal."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--ranks", type=int, default=1024)
    parser.add_argument("--iterations", type=int, default=239)
    parser.add_argument("--folder", type=Path, help="keep the samples here, and use what is here already")
    parser.add_argument("--files", type=int, default=1 << 20, help="analyse so many of the files")
    parser.add_argument("--engine", nargs="+", default=[], metavar="URL", help="duckdb://, spark://local[2], ...")
    parser.add_argument("--exact", action="store_true")
    parser.add_argument("--task", choices=TASKS, help=argparse.SUPPRESS)
    given = parser.parse_args()
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)  # as where a user installed it
    if given.task:
        values = TASKS[given.task](Work(given.folder, given.ranks, (given.engine or ["duckdb://"])[0], given.files))
        peak = max(resource.getrusage(who).ru_maxrss for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)) * 1024
        print(json.dumps(values | {"peak_bytes": peak}))
        return 0
    with tempfile.TemporaryDirectory() as place:
        folder = given.folder or Path(place)
        if not any((folder / "samples").glob("*.parquet")):
            generate(folder, given.ranks, given.iterations)
        work = Work(folder, given.ranks, "duckdb://", given.files)
        print(
            f"{given.ranks} ranks, {sum(path.stat().st_size for path in work.paths) / 1e9:.2f} GB of samples",
            flush=True,
        )
        cpu, peak = measured("analyse", work)
        met = judge(cpu, peak, work)
        seconds = [measured("engine", work._replace(engine=engine))[0] for engine in given.engine]
        for engine, each in zip(given.engine[1:], seconds[1:], strict=False):
            print(f"{engine}: {each / seconds[0]:.1f} times the processor time of {given.engine[0]}")
        if given.exact:
            measured("exact", work)
        return 0 if met else 1


if __name__ == "__main__":
    sys.exit(main())
