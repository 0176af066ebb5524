# SPDX-License-Identifier: BSD-3-Clause
"""How often `weft compare --trend` sees a change in made histories: none, a step, up and back, one slow run.

    python bench/trend_power.py [HISTORIES] [--nights]
    python bench/trend_power.py NIGHTS --virtual FOLDER

With --nights, of the alarms of `weft watch` in years of nights instead: how many a year where nothing happens, and how
often a step is reported within three nights.

With --virtual, real nights of all pairs of eight virtual hosts, by a faked clock. From two thirds of them on a cable
has a quarter of its rate: exit code 1 if its first night does not name it, or if an earlier one gives an alarm. The
same command goes on where it was ended.

Runs differ by 1.4 % from day to day as a whole, four rows by as much beside, so a row scatters by 2 %. Some histories
hang together: each run keeps 0.6 of the one before. Prints for each length of a history how many were judged changed.
"""

import sys
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "src"))

from weft.analyse.compare.nights import find_alarms
from weft.analyse.compare.trend import judged
from weft.fabric import load_fabric
from weft.kernel.studies import load_study
from weft.launch import launcher_for
from weft.report.compare.history import Nights, write_nights
from weft.run.nightly import Watch, make_watch, read_history, run_night
from weft.run.progress import Progress

MARGIN, DEALS, ROWS, LEAD_IN, NIGHTS = 0.05, 199, 4, 30, 365
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

ROOT = Path(__file__).resolve().parents[1]
FABRIC = (ROOT / "fabrics/virtual-slow-cable.toml").read_text().replace("virtual-slow-cable", "eight")
CABLE, RATE, BEGUN = "leaf2 - spine0", "62.5 MB/s", datetime(2026, 1, 1, 2, 17, tzinfo=UTC)
STUDY = """
name = "nightly-pairs"
kernel = "pairs"
[measure]
launches = 1
min_samples = 5
max_samples = 8
warmup_most = 1
budget = "50 ms"
[pairs]
bytes = ["256 KiB"]
concurrency = "isolated"
[[series]]
name = "all-nodes"
nodes = [8]
ranks_per_node = 1
"""


def history(rng: np.random.Generator, runs: int, kept: float) -> Reals:
    """Logarithms of times (runs, rows) in which nothing happens."""
    shared, own = rng.normal(0, 0.014, (runs + LEAD_IN, 1)), rng.normal(0, 0.014, (runs + LEAD_IN, ROWS))
    logs: Reals = np.asarray(shared + own, np.float64)
    for run in range(1, len(logs)):
        logs[run] += kept * logs[run - 1]
    return logs[LEAD_IN:]


def years(histories: int, kept: float, step: float = 0.0, tails: float = 0.0) -> tuple[float, float]:
    """Alarms a year where nothing happens, or without the step's; and the share of steps seen within three nights.

    ``tails``: share of the nights that are slow by themselves, by 10 to 40 %.
    """
    alarms = named = 0
    for index in range(histories):
        rng = np.random.default_rng([index, round(10 * kept), round(1000 * step)])
        logs, at = history(rng, NIGHTS, kept), int(rng.integers(40, NIGHTS - 3))
        slow = rng.random(NIGHTS) < tails
        logs += np.where(slow, rng.uniform(0.1, 0.35, NIGHTS), 0.0)[:, None]
        logs[at:] += step
        found = find_alarms(np.asarray(logs, np.float64), float(np.log1p(MARGIN)))
        own = [each for each in found if step and at <= each.seen < at + 3 and each.at <= each.seen]
        named, alarms = named + bool(own), alarms + len(found) - len(own[:1])
    return alarms / histories, named / histories


def nights(histories: int) -> None:
    """Print a row for each kind of year."""
    for kept, tails in ((0.0, 0.0), (0.6, 0.0), (0.8, 0.0), (0.6, 0.02)):
        false, _ = years(histories, kept, tails=tails)
        _, found = years(histories, kept, step=float(np.log(1.10)), tails=tails)
        like = f"each night keeps {kept} of the one before" + (f", {tails:.0%} slow by themselves" if tails else "")
        print(f"{like}: {false:.2f} false alarms a year, 1.10x reported within 3 nights in {found:.1%}", flush=True)


def virtual(folder: Path, count: int) -> int:
    """Measure the nights that are left, print the alarms of all; 1 if one is wrong or missing."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "nightly.toml").write_text(STUDY)
    for name, rate in (("equal", RATE), ("slow", "15.6 MB/s")):
        (folder / f"{name}.toml").write_text(FABRIC.replace("6.25 MB/s", rate))
    equal, slow = (load_fabric(folder / f"{name}.toml") for name in ("equal", "slow"))
    first, planted = (
        make_watch(load_study(folder / "nightly.toml"), equal, "1d", "3 s", folder / "watch"),
        2 * count // 3,
    )
    past, quiet = read_history(first), Progress()
    while (night := len(past.nights) + 1) <= count:
        watch = Watch(first.study, slow if night >= planted else equal, first.folder, first.every_s, first.time)
        began = time.monotonic()
        launcher = launcher_for(watch.fabric, None, quiet.say)
        past = run_night(watch, launcher, quiet, BEGUN + timedelta(days=night - 1))
        named = ", ".join(past.nights[-1].slow) or "nothing"
        print(f"night {night}: {time.monotonic() - began:.1f} s, names {named}", flush=True)
    found = Nights(past.study, past.fabric, past.nights, past.precision, equal.hosts)
    for each in found.alarms:
        causes = "; ".join(found.causes(each))
        print(f"night {each.seen + 1}: {found.row_name(each)} {each.factor:.2f}x since night {each.at + 1}: {causes}")
    print("wrote", write_nights(found, first.folder))
    seen = [each.seen + 1 for each in found.alarms if f"slow: {CABLE}" in found.causes(each)]
    early = sum(each.seen + 1 < planted for each in found.alarms)
    print(f"{early} alarms before night {planted}; cable named in nights {seen}")
    return int(bool(early) or planted not in seen)


def main(histories: int) -> None:
    """Print a row for each thing that happened."""
    rows = [(what, 0.0) for what in HAPPENED] + [("nothing", 0.6)]
    for what, kept in rows:
        named: list[str] = []
        for runs in (10, 20, 40):
            rng = np.random.default_rng([runs, round(10 * kept)])
            more = HAPPENED[what](np.arange(runs) / runs)[:, None]
            seen = sum(bool(judged(history(rng, runs, kept) + more, MARGIN, DEALS)[0]) for _ in range(histories))
            named.append(f"{runs} runs {seen} of {histories}")
        print(f"{what}{', runs that hang together' if kept else ''}: {', '.join(named)}", flush=True)


if __name__ == "__main__":
    given = sys.argv[1:]
    count = int(given[0]) if given and given[0].isdecimal() else 60
    if "--virtual" in given:
        sys.exit(virtual(Path(given[-1]), count))
    if "--nights" in given:
        nights(count)
    else:
        main(count)
