# SPDX-License-Identifier: BSD-3-Clause
"""How fast the samples of pairs go from .npy to Parquet: rows a second, and bytes a row.

    python bench/pairs_conversion.py [--ranks 128] [--samples 60] [--cells 4]

Makes cells of a whole tournament each, with every checksum, and converts them as `weft run` does after a launch. Says
how many rows a second of wall time and of processor time. Goal: 10 million a second on two cores that nobody else uses.
"""

import argparse
import os
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
from numpy.typing import NDArray

from weft.store.parquet import convert

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))

from made.pair_cells import MadePairs, write_pairs_cell


def main() -> None:
    """Make, convert, print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--ranks", type=int, default=128)
    parser.add_argument("--samples", type=int, default=60)
    parser.add_argument("--cells", type=int, default=4)
    given = parser.parse_args()
    dice = np.random.default_rng(1)
    pool: NDArray[np.int64] = dice.lognormal(11, 0.1, 1 << 20).astype(np.int64)

    def times(mode: str, size: int, source: int, target: int) -> Any:
        first = int(dice.integers(0, len(pool) - int(given.samples)))
        return pool[first : first + given.samples]

    with tempfile.TemporaryDirectory() as place:
        root = Path(place)
        made = MadePairs([rank // 16 for rank in range(given.ranks)], times)
        write_pairs_cell(root, made, cell="warm-up")
        convert(root)  # what is imported once is no part of the rate
        for cell in range(given.cells):
            write_pairs_cell(root, made, cell=f"c{cell:03}")
        began, used = time.monotonic(), time.process_time()
        convert(root)
        wall_s, processor_s = time.monotonic() - began, time.process_time() - used
        files = list((root / "samples").glob("c*.parquet"))
        rows = sum(pq.read_metadata(file).num_rows for file in files)
        size = sum(file.stat().st_size for file in files)
    print(
        f"{rows:,} rows, {size / rows:.1f} B each: {rows / wall_s / 1e6:.1f} million a second, "
        f"{rows / processor_s / 1e6:.1f} million a second of processor time ({len(os.sched_getaffinity(0))} cores)"
    )


if __name__ == "__main__":
    main()
