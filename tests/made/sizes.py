# SPDX-License-Identifier: BSD-3-Clause
"""Times along message sizes, made by seed: the rows of both tables, and the series that the detector reads."""

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from weft.analyse.statistics.quantile import median_ranks
from weft.analyse.thresholds.series import SizeSeries, make_series

Row = dict[str, Any]
Curve = Callable[[float], float]

SAMPLES = 20


def sizes_of(grid: str, around: int = 4096) -> list[int]:
    """Sizes as studies sample them: powers of two, half steps, or refined about one size to 1/8 octave."""
    if grid == "octaves":
        return [2**k for k in range(23)]
    if grid == "short":
        return [2**k for k in range(3, 17)]
    if grid == "halves":
        return sorted({round(2 ** (k / 2)) for k in range(45)})
    refined = {int(around * 2 ** (k / 8)) for k in range(-8, 9)}
    return sorted({2**k for k in range(23)} | refined)


def latency_and_rate(rng: np.random.Generator) -> Curve:
    """A smooth curve as LogP has it: a latency of 0.3 to 30 us and a rate of 0.3 to 20 GB/s."""
    latency, rate = 10 ** rng.uniform(-6.5, -4.5), 10 ** rng.uniform(8.5, 10.3)
    return lambda size: latency + size / rate


def overlapped(rng: np.random.Generator) -> Curve:
    """A smooth curve sharper than LogP's: latency and transfer overlap in part."""
    latency, rate, sharp = 10 ** rng.uniform(-6.5, -4.5), 10 ** rng.uniform(8.5, 10.3), rng.uniform(1, 2.5)
    return lambda size: (latency**sharp + (size / rate) ** sharp) ** (1 / sharp)


def out_of_cache(rng: np.random.Generator) -> Curve:
    """A smooth curve whose rate falls by a third over some octaves, as when a cache overflows."""
    latency, rate, cache = 10 ** rng.uniform(-6.5, -4.5), 10 ** rng.uniform(9, 10.3), 2 ** rng.uniform(12, 20)
    return lambda size: latency + size / rate * (1 + 0.5 / (1 + (cache / max(size, 1)) ** 1.5))


def with_jump(curve: Curve, size: int, factor: float) -> Curve:
    """The curve with its times beyond a size multiplied."""
    return lambda here: curve(here) * (factor if here > size else 1.0)


def made_tables(
    rng: np.random.Generator,
    curve: Curve,
    sizes: Sequence[int],
    noise: float,
    launches: int = 3,
    name: str = "send",
    outliers: float = 0.0,
    crowded: float = 0.0,
) -> tuple[list[Row], list[Row]]:
    """Rows of the tables of calls and of medians.

    Parameters
    ----------
    noise
        Relative standard deviation of a sample, and of a launch at one size; launches differ as a whole by 2 %.
    outliers
        Probability that a launch is disturbed at one size: it takes up to twice as long there.
    crowded
        Probability that a sample waits for a core that somebody else has: it takes up to a thousand times as long.
    """
    shape = (len(sizes), launches)
    offsets = np.exp(0.02 * rng.standard_normal(launches))
    disturbed = np.where(rng.random(shape) < outliers, 0.5 * np.abs(rng.standard_normal(shape)), 0.0)
    means = np.array([curve(size) for size in sizes])[:, None] * offsets
    means *= np.exp(noise * rng.standard_normal(shape) + disturbed)
    samples = means[:, :, None] * np.exp(noise * rng.standard_normal((*shape, SAMPLES)))
    samples *= np.where(rng.random(samples.shape) < crowded, np.exp(7 * rng.random(samples.shape)), 1.0)
    own, fastest = np.median(samples, axis=2), np.min(samples, axis=2)
    pooled = np.sort(samples.reshape(len(sizes), -1), axis=1)
    low, high, _ = median_ranks(pooled.shape[1])
    rows: list[Row] = []
    medians: list[Row] = []
    for place, size in enumerate(sizes):
        same: Row = {"cell": "c000", "call": f"{name}@{size}", "phase": "warm", "nodes": 1, "ranks": 2}
        for launch in range(launches):
            pair = {"median_s": float(own[place, launch]), "min_s": float(fastest[place, launch])}
            medians.append(same | {"launch": launch + 1, "least_s": pair["median_s"]} | pair)
        numbers = {
            "median_s": np.median(pooled[place]),
            "low_s": pooled[place, low - 1],
            "high_s": pooled[place, high - 1],
        }
        numbers |= {"launch_low_s": own[place].min(), "launch_high_s": own[place].max()}
        rows.append(same | {"status": "ok", "interval": "none"} | {key: float(value) for key, value in numbers.items()})
    return rows, medians


def made_series(
    rng: np.random.Generator,
    curve: Curve,
    sizes: Sequence[int],
    noise: float,
    launches: int = 3,
    outliers: float = 0.0,
) -> SizeSeries:
    """One series, as `made_tables` makes its tables."""
    rows, medians = made_tables(rng, curve, sizes, noise, launches, outliers=outliers)
    by_launch: dict[int, dict[int, float]] = {}
    for row in medians:
        by_launch.setdefault(row["launch"], {})[int(row["call"].split("@")[1])] = row["median_s"]
    return make_series("c000", "send", rows, by_launch)


def step_of(sizes: Sequence[int], size: int) -> int:
    """Place of the last size that is not beyond ``size``."""
    return max(place for place, here in enumerate(sizes) if here <= size)


def drawn(rng: np.random.Generator, low: float = 7, high: float = 16) -> int:
    """A size anywhere between two powers of two, evenly on a logarithmic scale."""
    return math.floor(2 ** rng.uniform(low, high))
