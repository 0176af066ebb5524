# SPDX-License-Identifier: BSD-3-Clause
"""How often `weft compare --trend` sees a change in made histories: none, a step, up and back, one slow run.

    python bench/trend_power.py [HISTORIES]

Runs differ by 1.4 % from day to day as a whole, four rows by as much beside, so a row scatters by 2 %. Some histories
hang together: each run keeps 0.6 of the one before. Prints for each length of a history how many were judged changed.
"""

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "src"))

from weft.analyse.compare.trend import judged

MARGIN, DEALS, ROWS, LEAD_IN = 0.05, 199, 4, 30
Reals = NDArray[np.floating[Any]]
#: What happens to times, by the place of a run in its history, 0 to 1: logarithms are added.
HAPPENED: dict[str, Callable[[Reals], Reals]] = {
    "nothing": np.zeros_like,
    "a step of 6 %": lambda at: 0.06 * (at >= 0.6),
    "a step of 10 %": lambda at: 0.1 * (at >= 0.6),
    "a step of 25 %": lambda at: 0.223 * (at >= 0.6),
    "22 % up and back": lambda at: 0.2 * ((at >= 0.4) & (at < 0.7)),
    "one slow run, the last": lambda at: 0.3 * (at == at.max()),
    "one slow run, in the middle": lambda at: 0.3 * (at == 0.5),
}


def history(rng: np.random.Generator, runs: int, kept: float) -> Reals:
    """Logarithms of times (runs, rows) in which nothing happens."""
    shared, own = rng.normal(0, 0.014, (runs + LEAD_IN, 1)), rng.normal(0, 0.014, (runs + LEAD_IN, ROWS))
    logs: Reals = np.asarray(shared + own, np.float64)
    for run in range(1, len(logs)):
        logs[run] += kept * logs[run - 1]
    return logs[LEAD_IN:]


def main(histories: int) -> None:
    """Print a row for each thing that happened."""
    rows = [(what, 0.0) for what in HAPPENED] + [("nothing", 0.6)]
    for what, kept in rows:
        told: list[str] = []
        for runs in (10, 20, 40):
            rng = np.random.default_rng([runs, round(10 * kept)])
            more = HAPPENED[what](np.arange(runs) / runs)[:, None]
            seen = sum(bool(judged(history(rng, runs, kept) + more, MARGIN, DEALS)[0]) for _ in range(histories))
            told.append(f"{runs} runs {seen} of {histories}")
        print(f"{what}{', runs that hang together' if kept else ''}: {', '.join(told)}", flush=True)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 60)
