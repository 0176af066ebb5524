# SPDX-License-Identifier: BSD-3-Clause
"""Cells of the kernel ``pairs`` as it writes them, from given times: raw or summarised, on any nodes."""

import json
import math
import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from weft.analyse.statistics.quantile import median_ranks, quantile_rank
from weft.kernel.tournament import PairSchedule

Column = NDArray[np.int64]
Times = Callable[[str, int, int, int], Column]


@dataclass
class MadePairs:
    """What to make.

    Attributes
    ----------
    node_of
        Node of each rank.
    times
        (mode, bytes, source, target) -> durations of the warm samples in ns, of ``batch`` messages each; as many for
        every pair.
    again
        (bytes, source, target) of pairs that were measured again.
    """

    node_of: Sequence[int]
    times: Times
    sizes: Sequence[int] = (0, 262_144)
    modes: Sequence[str] = ("all",)
    raw: bool = True
    batch: int = 2
    residual_ns: float = 0.0
    method: str = "shared"
    again: Sequence[tuple[int, int, int]] = ()
    hash: str = "made"
    cold_ns: int = 90_000
    forward_ns: int = 700


SAMPLES = {"columns": ["start_ns", "duration_ns", "delay"]}
#: What the rows of a segment hold, by the first word of its name.
LAYOUTS: dict[str, dict[str, Any]] = {
    "partner": {"columns": ["", "partner", ""]},
    "forward": {"columns": ["start_ns", "forward_samples", "forward_ns"]},
    "again": {"columns": ["", "again_1_ns", "again_2_ns"]},
    "summary": {
        "columns": ["", "bucket", "count"],
        "head": [
            ["", "samples", "disturbed"],
            ["", "min_ns", "p5_ns"],
            ["", "p25_ns", "median_ns"],
            ["", "p75_ns", "p95_ns"],
            ["", "p99_ns", "max_ns"],
            ["", "mean_ns", "least_ns"],
            ["", "low_ns", "high_ns"],
        ],
    },
}


class Slabs:
    """Segments one after the other."""

    def __init__(self, ranks: int) -> None:
        self.ranks = ranks
        self.columns: list[Column] = []
        self.segments: list[dict[str, Any]] = []

    def add(self, op: str, phase: str, second: Column, third: Column | None = None, batch: int = 1) -> None:
        """Add a segment from the second and third numbers of its rows, shape (ranks, count)."""
        first = sum(column.shape[1] for column in self.columns)
        rows = np.zeros((*second.shape, 3), np.int64)
        rows[:, :, 1] = second
        if third is not None:
            rows[:, :, 2] = third
        self.columns.append(rows)
        segment = {"op": op, "phase": phase, "first": first, "count": second.shape[1], "batch": batch}
        self.segments.append(segment | LAYOUTS.get(op.partition(".")[0], SAMPLES))

    @property
    def samples(self) -> Column:
        """All rows, shape (ranks, rows, 3)."""
        return np.ascontiguousarray(np.concatenate(self.columns, axis=1))


def write_pairs_cell(root: Path, made: MadePairs, cell: str = "c000", launch: int = 1, launch_id: str = "") -> None:
    """Write one cell of a launch with the whole tournament, and the launch's record."""
    ranks = len(made.node_of)
    schedule, slabs = PairSchedule(list(made.node_of)), Slabs(ranks)
    for number in range(schedule.rounds):
        partner = np.arange(ranks)
        low, high = schedule.pairs(number).T
        partner[low], partner[high] = high, low
        slabs.add(f"partner.r{number}", "cold", partner[:, np.newaxis])
        for size in made.sizes:
            for mode in made.modes:
                _add_way(slabs, made, number, partner, size, mode)
    launch_id = launch_id or f"g000.l{launch}"
    _write(root, cell, launch, launch_id, slabs, made)
    _write_launch(root, launch, launch_id, made.node_of)


def _add_way(slabs: Slabs, made: MadePairs, number: int, partner: Column, size: int, mode: str) -> None:
    ranks, op = len(partner), f"{mode}.r{number}@{size}"
    paired = partner != np.arange(ranks)
    cold = np.where(paired, made.cold_ns, 0)
    slabs.add(op, "cold", cold[:, np.newaxis], batch=2)
    times = [made.times(mode, size, rank, int(partner[rank])) if paired[rank] else None for rank in range(ranks)]
    count = next(len(each) for each in times if each is not None)
    warm = np.stack([np.zeros(count, np.int64) if each is None else each for each in times])
    if made.raw:
        slabs.add(op, "warm", warm, third=lost_of(warm), batch=made.batch)
    else:
        _add_summaries(slabs, op, warm, paired, made.batch)
    forward = np.where(paired, count, 0)[:, np.newaxis]
    slabs.add(f"forward.{op}", "warm", forward, third=np.where(paired, made.forward_ns, 0)[:, np.newaxis])
    looks = np.array([paired[rank] and (size, rank, int(partner[rank])) in made.again for rank in range(ranks)])
    if looks.any():
        medians = np.median(warm, axis=1).astype(np.int64)
        both = [np.where(looks, medians + extra, 0)[:, np.newaxis] for extra in (10, 20)]
        slabs.add(f"again.{op}", "warm", both[0], third=both[1], batch=made.batch)


def _add_summaries(slabs: Slabs, op: str, warm: Column, paired: NDArray[np.bool_], batch: int) -> None:
    """As native/measure/pairs/pair_summary.cpp does it."""
    rows = [summary(times, batch) if has else [] for times, has in zip(warm, paired, strict=True)]
    most = max(len(each) for each in rows)
    filled = np.array([each + [(0, 0)] * (most - len(each)) for each in rows], np.int64)
    slabs.add(f"summary.{op}", "warm", filled[:, :, 0], third=filled[:, :, 1], batch=batch)


def lost_of(times: Column) -> Column:
    """What the samples lost: half of some of them."""
    return np.where(times % 97 == 0, times // 2, 0)


def enclosing_ranks(times: Column) -> tuple[int, int]:
    """Ranks of the interval of the median in sorted times, as native/measure/sample/effective.cpp finds them."""
    n = len(times)
    off = np.array([(times < each).sum() + ((times == each).sum() - 1) / 2 for each in times]) - (n - 1) / 2
    biased = (off[1:] * off[:-1]).sum() / (off**2).sum() if off.any() else 0.0
    alike = biased + (1 + 3 * biased) / n if n >= 3 and off.any() else 0.0
    effective = max(1, math.floor(n if alike <= 0 else n * (1 - min(alike, 1.0)) / (1 + min(alike, 1.0))))
    rank, _, coverage = median_ranks(effective)
    low = max(1, math.floor(rank / (effective + 1) * (n + 1) + 1e-9)) if coverage >= 0.95 else 1
    return low, n + 1 - low


def summary(times: Column, batch: int) -> list[tuple[int, int]]:
    """Rows of one pair's summary."""
    x, n = np.sort(times), len(times)
    low, high = enclosing_ranks(times)

    def at(q: float) -> int:
        return int(x[quantile_rank(n, q) - 1])

    middle, least = (int(np.median(each)) for each in (times, times - lost_of(times)))
    disturbed = int((lost_of(times) > 0).sum())
    rows = [(n, disturbed), (int(x[0]), at(0.05)), (at(0.25), middle), (at(0.75), at(0.95)), (at(0.99), int(x[-1]))]
    rows += [(round(float(times.mean())), least), (int(x[low - 1]), int(x[high - 1]))]
    buckets, counts = np.unique([math.floor(math.log2(time / batch) * 32) for time in x], return_counts=True)
    return rows + list(zip(buckets.tolist(), counts.tolist(), strict=True))


def _write(root: Path, cell: str, launch: int, launch_id: str, slabs: Slabs, made: MadePairs) -> None:
    samples = slabs.samples
    record = {
        "schema": "weft-cell/2", "run": "made", "hash": made.hash, "cell": cell,
        "launch": launch_id, "launch_index": launch, "kernel": "pairs",
        "ranks": slabs.ranks, "status": "ok", "shape": list(samples.shape), "segments": slabs.segments,
        "crc32": [zlib.crc32(samples[rank].tobytes()) for rank in range(slabs.ranks)],
        "clock": {"method": made.method, "residual_ns": made.residual_ns},
    }  # fmt: skip
    (root / "cells").mkdir(parents=True, exist_ok=True)
    np.save(root / "cells" / f"{cell}.l{launch}.npy", samples)
    (root / "cells" / f"{cell}.l{launch}.json").write_text(json.dumps(record))


def _write_launch(root: Path, launch: int, launch_id: str, node_of: Sequence[int]) -> None:
    ranks = [
        {"rank": rank, "host": f"node{node}", "node": node, "local_rank": list(node_of[:rank]).count(node)}
        for rank, node in enumerate(node_of)
    ]
    record = {"schema": "weft-launch/1", "launch": launch_id, "launch_index": launch, "ranks": ranks}
    (root / "launches").mkdir(parents=True, exist_ok=True)
    (root / "launches" / f"{launch_id}.json").write_text(json.dumps(record))
