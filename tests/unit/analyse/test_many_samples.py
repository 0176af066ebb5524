# SPDX-License-Identifier: BSD-3-Clause
"""Ten million samples in one cell come through, and stdout has nothing but what was asked (no bar of DuckDB)."""

import resource
import subprocess
import sys
import time
from pathlib import Path

import pytest

ASKED = """
import ibis, sys
from pathlib import Path
from weft.analyse.engine import connect, read
from weft.analyse.times import turn_rows
count = int(sys.argv[1])
backend = connect("duckdb://")
backend.raw_sql(f'''
    COPY (SELECT 'c000' AS cell, 1::SMALLINT AS launch, 'C:shift' AS op, 'warm' AS phase, i::INT AS iteration,
           r::INT AS rank, i * 1000 + r AS start_ns, 500 + (i * 7919) % 101 AS duration_ns, 1::INT AS batch, 0 AS taint
    FROM range({count} // 2) AS a(i), range(2) AS b(r)) TO '{sys.argv[2]}' ''')
samples = read(backend, [Path(sys.argv[2])])
segments = ibis.memtable([{"cell": "c000", "launch": 1, "op": "C:shift", "phase": "warm", "definition": "global"}])
(row,) = turn_rows(samples, segments)
print(row["samples"], round(row["seconds"] * 1e9), round((row["total_s"] - row["seconds"]) * 1e9))
"""


def asked(count: int, file: Path) -> tuple[str, float]:
    """What the medians of so many samples are, and the seconds that they took."""
    began = time.monotonic()
    done = subprocess.run(
        [sys.executable, "-c", ASKED, str(count), str(file)], capture_output=True, text=True, check=True
    )
    return done.stdout.strip(), time.monotonic() - began


@pytest.mark.parametrize("count", [1_000_000, pytest.param(10_000_000, marks=pytest.mark.long)])
def test_millions_of_samples_of_a_step_take_seconds_and_less_than_two_gib(count: int, tmp_path: Path) -> None:
    told, seconds = asked(count, tmp_path / "samples.parquet")
    assert told == f"{count // 2} 550 1"
    assert seconds < 120
    assert resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss < 2 * 1024**2
