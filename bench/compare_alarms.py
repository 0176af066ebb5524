# SPDX-License-Identifier: BSD-3-Clause
"""How often `weft compare` cries wolf, and how often it sees one: a real study, measured again and again.

    python bench/compare_alarms.py [--runs 15] [--comparisons 100] [--planted 20] [--launches 4] [--into FOLDER]

Measures one tiny study on a virtual network (two hosts, one rank each, limited links) so many times, and compares runs
two by two: neighbours in time first, then further ones. None differs from another, so each verdict "slower" or
"faster" on any row is a false alarm; the goal is at most 5 in 100. Then it measures the same study on links 1.25 times
slower and compares each of these runs with a run of the fast links: the goal is that at least 19 in 20 are found. Runs
that are in FOLDER already are kept, so an interrupted bench goes on.
"""

import argparse
import tempfile
from itertools import cycle, islice
from pathlib import Path

from weft.analyse.compare.comparison import Comparison
from weft.fabric import load_fabric
from weft.kernel.studies import load_study
from weft.launch import launcher_for
from weft.report.compare import load_compare
from weft.run.one import run_study

ALARMS, FOUND = 0.05, 0.95
SLOWDOWN = 1.25
#: So slow that the link takes the time, not the two cores behind it.
RATE_MB = 1.0

STUDY = """\
name = "alarms"
title = "Small collectives over a limited link, {launches} launches"
kernel = "collective"
[measure]
launches = {launches}
min_samples = 6
max_samples = 12
warmup_most = 2
budget = "1 s"
limit = "60 s"
[collective]
collectives = ["Bcast", "Alltoall"]
sizes = ["32 KiB", "128 KiB"]
[[series]]
name = "two-nodes"
nodes = 2
ranks_per_node = 1
"""

FABRIC = """\
name = "alarm-links"
kind = "virtual"
title = "Two namespaces, every link {rate} MB/s"
[node]
names = "host[0-1]"
cores = 1
memory = "1 GiB"
[network]
topology = "fat-tree"
adapter_rate = "{rate} MB/s"
[network.tree]
nodes_per_leaf = 1
uplinks = 1
link_rate = "{rate} MB/s"
"""


def measure(folder: Path, name: str, number: int, launches: int, rate_mb: float) -> Path:
    """One run of the study; what is there of it already is kept."""
    run = folder / f"{name}{number:02}"
    study, fabric = folder / "alarms.toml", folder / f"links-{name}.toml"
    study.write_text(STUDY.format(launches=launches))
    fabric.write_text(FABRIC.format(rate=rate_mb))
    where = load_fabric(fabric)
    run_study(load_study(study), where, run, launcher_for(where, None, print))
    return run


def differs(comparison: Comparison, word: str = "") -> bool:
    """Whether any row or summary is called slower or faster (or, where given, that word)."""
    words = (word,) if word else ("slower", "faster")
    return any(each.evidence.outcome in words for each in (*comparison.rows, *comparison.summaries))


def pairs(runs: list[Path]) -> list[tuple[Path, Path]]:
    """Every two runs: neighbours in time first."""
    count = len(runs)
    return [(runs[place], runs[place + gap]) for gap in range(1, count) for place in range(count - gap)]


def main() -> None:
    """Measure, compare, print the shares."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--runs", type=int, default=15)
    parser.add_argument("--comparisons", type=int, default=100)
    parser.add_argument("--planted", type=int, default=20)
    parser.add_argument("--launches", type=int, default=4)
    parser.add_argument("--into", type=Path)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = (given.into or Path(temporary)).resolve()
        folder.mkdir(parents=True, exist_ok=True)
        runs = [measure(folder, "same", number, given.launches, RATE_MB) for number in range(given.runs)]
        both = ("cold", "warm")
        same = [load_compare(two, phases=both).comparisons[0] for two in islice(pairs(runs), given.comparisons)]
        alarms = [each for each in same if differs(each)]
        verdict = "within" if len(alarms) <= ALARMS * len(same) else "over"
        print(f"{len(same)} comparisons of {len(runs)} runs of one study, {given.launches} launches each: "
              f"{len(alarms)} false alarms, {verdict} the goal of {ALARMS:.0%}")  # fmt: skip
        for each in alarms:
            print(f"  {Path(each.other.path).name} against {Path(each.base.path).name}: {each.outcome}")
        slow = [measure(folder, "slow", number, given.launches, RATE_MB / SLOWDOWN) for number in range(given.planted)]
        found = [
            load_compare((base, other), phases=both).comparisons[0]
            for base, other in zip(cycle(runs), slow, strict=False)
        ]
        seen = sum(differs(each, "slower") for each in found)
        verdict = "within" if seen >= FOUND * len(found) else "under"
        print(f"{len(found)} comparisons with links {SLOWDOWN} times slower: {seen} found, "
              f"{verdict} the goal of {FOUND:.0%}")  # fmt: skip


if __name__ == "__main__":
    main()
