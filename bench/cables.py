# SPDX-License-Identifier: BSD-3-Clause
"""Who is named for slow cables, over fifty seeds: 1, 2 and 4 spines, two and three levels, seven kinds of fault.

``python bench/cables.py [SEEDS]`` prints each wrong verdict, and how many there were. 2,100 verdicts take some 15
minutes on one core.
"""

import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))

from made.attributed import planted_outliers
from made.cables import CASES, TREES, planted, tree


def main(seeds: int) -> int:
    """Judge every tree, case and seed; 1 where a verdict is wrong."""
    wrong = judged = 0
    for spines, levels in TREES:
        cluster = tree(spines, levels)
        for case in CASES:
            for seed in range(seeds):
                made = planted(cluster, case, seed)
                with tempfile.TemporaryDirectory() as folder:
                    found = planted_outliers(Path(folder), cluster, made.faults, seed)
                judged += 1
                if frozenset(outlier.title for outlier in found) != made.titles:
                    wrong += 1
                    statements = [outlier.statement for outlier in found]
                    print(f"{spines} spines, {levels} levels, {case}, seed {seed}: {sorted(made.titles)}: {statements}")
            print(f"{spines} spines, {levels} levels, {case}: {judged} judged, {wrong} wrong", flush=True)
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]) if len(sys.argv) > 1 else 50))
