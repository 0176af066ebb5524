# SPDX-License-Identifier: BSD-3-Clause
"""Rows of a run of the kernel ``pairs`` in a comparison: the median pair and the slowest, by size and mode."""

from typing import Any

import numpy as np

from weft.analyse.compare.sides import Key, Point

#: Operation, and the statistic it takes of the medians of all pairs of a launch.
TAKEN = {"middle pair": np.median, "slowest pair": np.max}


def pair_points(kernel: str, pairs: Any, nodes: int, ranks: int) -> dict[Key, Point]:
    """Rows that stand for a run's pairs: there are thousands of single pairs, and these show how two runs differ.

    Parameters
    ----------
    pairs
        The table of pairs (pyarrow): a row for each ordered pair, size, mode and launch, times one way in seconds.
    """
    columns = {name: pairs[name].to_numpy(zero_copy_only=False) for name in ("launch", "bytes", "mode", "median_s")}
    found: dict[tuple[str, str, int], dict[int, float]] = {}
    for mode in dict.fromkeys(columns["mode"]):
        for size in np.unique(columns["bytes"]):
            own = (columns["mode"] == mode) & (columns["bytes"] == size) & np.isfinite(columns["median_s"])
            for launch in np.unique(columns["launch"][own]):
                times = columns["median_s"][own & (columns["launch"] == launch)]
                for name, take in TAKEN.items():
                    found.setdefault((name, str(mode), int(size)), {})[int(launch)] = float(take(times))
    return {
        Key(kernel, f"{name}, {mode}@{size}", "warm", nodes, ranks, None, None, ""): Point(
            (), "ok", "", medians, None, False
        )
        for (name, mode, size), medians in found.items()
    }
