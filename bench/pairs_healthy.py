# SPDX-License-Identifier: BSD-3-Clause
"""How often `weft run pairs` would accuse somebody on a network that has no fault (made times, nothing is started).

    python bench/pairs_healthy.py [--seeds 20] [--noise 0 0.05] [--only NAME]

Times of all pairs on one switch, trees, tori and dragonflies of three sizes, with and without scatter, go through the
analysis of a run. Prints for each how many of the seeds accuse anybody, and whom. Goal: none.
"""

import argparse
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))

from made.attributed import planted_outliers
from made.pair_shapes import HEALTHY
from made.pairs import Cluster, Faults


def accused(folder: Path, cluster: Cluster, seed: int) -> list[str]:
    """The titles of all that are named on a made cluster without a fault."""
    return [outlier.title for outlier in planted_outliers(folder, cluster, Faults(), seed)]


def main() -> int:
    """Print a line for each network and scatter; 1 if anybody was accused."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--noise", type=float, nargs="+", default=[0.0, 0.05])
    parser.add_argument("--only", default="", help="networks whose name has this in it")
    given = parser.parse_args()
    total = wrong = 0
    with tempfile.TemporaryDirectory() as place:
        for name, make in HEALTHY.items():
            for noise in given.noise if given.only in name else ():
                runs = [accused(Path(place), make(noise), seed) for seed in range(given.seeds)]
                named = [titles for titles in runs if titles]
                total, wrong = total + len(runs), wrong + len(named)
                others = f": {named[0][0]} and {sum(map(len, named)) - 1} more" if named else ""
                print(f"{name}, {noise:.0%}: {len(named)} of {len(runs)} seeds accuse somebody{others}", flush=True)
    print(f"{wrong} of {total} healthy networks are accused")
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main())
