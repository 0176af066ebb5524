# SPDX-License-Identifier: BSD-3-Clause
"""What `weft compare` can show with 4, 6 and 10 launches a side: false alarms and power on generated launches.

    python bench/compare_power.py [--comparisons 100]

Four collectives at eight sizes. Launches differ by a spread of each row and a common one (METHOD 9); in "disturbed"
ones, each launch has a chance of 5 % to be slower as a whole, by 20 % on average. A slowdown of 1.25 is planted in all
rows, in one collective, or in one row; found means that one of the planted rows, or a call that holds them, is called
slower.
"""

import argparse
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))

from made.sides import CALLS, drawn_side, keys
from weft.analyse.compare.comparison import Comparison, compare
from weft.analyse.compare.sides import Key

ROWS = keys(CALLS, tuple(4**power for power in range(2, 10)))
NOISE = {
    "2 % a row, 1 % a launch": {"spread": 0.02, "common": 0.01},
    "5 % a row, 2 % a launch": {"spread": 0.05, "common": 0.02},
    "2 %, 1 %, disturbed": {"spread": 0.02, "common": 0.01, "astray": 0.05},
}
PLANTS: dict[str, Callable[[Key], bool]] = {
    "nowhere": lambda key: False,
    "all rows": lambda key: True,
    "one collective": lambda key: key.operation == CALLS[1],
    "one row": lambda key: key == ROWS[3],
}


def caught(found: Comparison, planted: Callable[[Key], bool]) -> bool:
    """Whether a planted row, or a call with one, is called slower; without a plant, whether anything differs."""
    outcomes = [([each.key], each.evidence.outcome) for each in found.rows]
    outcomes += [(list(each.keys), each.evidence.outcome) for each in found.summaries]
    if not any(map(planted, ROWS)):
        return any(outcome in ("slower", "faster") for _, outcome in outcomes)
    return any(outcome == "slower" and any(map(planted, own)) for own, outcome in outcomes)


def drawn(seed: int, launches: int, noise: dict[str, Any], planted: Callable[[Key], bool]) -> Comparison:
    """One comparison of generated launches."""
    base = drawn_side("base", seed, launches, rows=ROWS, **noise)

    def slower(key: Key) -> float:
        return 1.25 if planted(key) else 1.0

    return compare(base, drawn_side("other", seed + 100_000, launches, rows=ROWS, slower=slower, **noise))


def main() -> None:
    """Print a table in Markdown."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--comparisons", type=int, default=100)
    count = parser.parse_args().comparisons
    print(f"{len(ROWS)} rows, {count} comparisons each: share in which a difference is called\n")
    print(f"| noise | launches a side | {' | '.join(PLANTS)} |\n|---|---:|{'---:|' * len(PLANTS)}")
    for name, noise in NOISE.items():
        for launches in (4, 6, 10):
            shares: list[str] = []
            for planted in PLANTS.values():
                hits = [caught(drawn(seed, launches, noise, planted), planted) for seed in range(count)]
                shares.append(f"{sum(hits) / count:.0%}")
            print(f"| {name} | {launches} | {' | '.join(shares)} |", flush=True)


if __name__ == "__main__":
    main()
