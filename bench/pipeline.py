# SPDX-License-Identifier: BSD-3-Clause
"""What the pipeline costs: seconds of a study of 100 tiny cells that are neither launch nor measurement.

    python bench/pipeline.py [--cells 100]

Runs `weft run` on a study whose cells take a moment each, and takes from its wall time what the launches took (start to
end of `mpiexec`, from the run's own notes). What is left is planning, walking, checking, converting, analysing and
reporting. Goal: under 50 ms a cell.
"""

import argparse
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

STUDY = """\
name = "tiny"
title = "two tiny cells, {launches} launches"
kernel = "exchange"
[measure]
launches = {launches}
max_samples = 10
warmup_most = 0
budget = "50 ms"
limit = "60 s"
[exchange]
data = "contention"
calls = ["A"]
[[series]]
name = "tiny"
scaling = "strong"
nodes = [1]
ranks_per_node = [1, 2]
n = 16
m = 1
"""


def main() -> None:
    """Run the study and print the pipeline's share."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--cells", type=int, default=100)
    cells = parser.parse_args().cells
    with tempfile.TemporaryDirectory() as place:
        study = Path(place) / "tiny.toml"
        study.write_text(STUDY.format(launches=cells // 2))
        run = Path(place) / "run"
        began = time.monotonic()
        command = [sys.executable, "-m", "weft", "run", str(study), "--on", "local", "--into", str(run)]
        subprocess.run(command, check=True, capture_output=True)
        wall = time.monotonic() - began
        launched = sum(json.loads(path.read_text())["wall_s"] for path in (run / "launches").glob("*.outcome.json"))
    own_ms = 1000 * (wall - launched) / cells
    print(f"{cells} cells: {wall:.1f} s, of which launches {launched:.1f} s; the pipeline {own_ms:.0f} ms a cell")


if __name__ == "__main__":
    main()
