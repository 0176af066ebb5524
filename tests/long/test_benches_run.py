# SPDX-License-Identifier: BSD-3-Clause
"""Every bench that docs quote runs once, small, to its end, and prints numbers."""

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
TEXTS = [ROOT / "README.md", *(ROOT / "docs").rglob("*.md")]
QUOTED = sorted({name for text in TEXTS for name in re.findall(r"python bench/(\w+)\.py", text.read_text())})
#: Words after each program; `{into}` is a new folder. `mutants` is a part of `make test-all` of its own,
#: `bare_debian` needs Debian's mirror, and `foreign_tests` the sources of others.
SMALL = {
    "alltoall_real": '--launches 4 --rounds 5 --sizes "8 B" --into {into}',
    "alltoall_simulated": '--nodes 8 --gaps 0.2 --sizes "512 B" --into {into}',
    "check_proof": "--fabrics 4 --jobs 1",
    "compare_alarms": "--runs 4 --comparisons 4 --planted 2 --into {into}",
    "compare_power": "--comparisons 4",
    "cost_estimates": "--kernels exchange --ranks 64 --libraries ompi",
    "first_answer": "help show sweep --repeats 1",
    "flips": "--count 700",
    "fuzz": "all --seconds 4",
    "interference": "--on two-spines hashed --seeds 1 --into {into}",
    "kills": "--kills 3 --disks 1 --launches 3 --seed 3",
    "pairs_analysis": "--ranks 64 --iterations 20 --folder {into}",
    "pairs_conversion": "--ranks 32 --samples 20 --cells 1",
    "pipeline": "--cells 10",
    "replay_error": "--calls alltoall --into {into}",
    "rounds": '--machines contended --nodes 3 --algorithms default node.multi --sizes "8 B" --into {into}',
    "routes": "--hosts 4518 --rounds 1",
    "simulated_costs": "--ranks 32 --seconds 4",
    "sizes": "machines cells pairs",
    "skewed_orders": '--nodes 4 --patterns hot --skew 5 --sizes "64 KiB" --into {into}',
    "trace_events": "--events 1e5 --ranks 4 --folder {into}",
    "trend_power": "4",
    "virtual_fits": "--networks one-switch --into {into}",
}
HARNESS = ["exchange", "pairs", "sweep", "rates"]
ELSEWHERE = {"harness", "mutants", "bare_debian", "foreign_tests"}


def run_bench(words: str, into: Path) -> str:
    """What a bench printed; it must end well, in a folder of its own."""
    command = [sys.executable, *shlex.split(words.format(into=into))]
    place = {**os.environ, "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"}
    done = subprocess.run(command, cwd=ROOT, env=place, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-4000:]
    return done.stdout


def test_every_bench_that_docs_quote_is_run() -> None:
    assert set(QUOTED) <= SMALL.keys() | ELSEWHERE


@pytest.mark.timeout(1200)
@pytest.mark.parametrize("name", SMALL)
def test_a_bench_runs_to_its_end(name: str, tmp_path: Path) -> None:
    assert re.search(r"\d", run_bench(f"bench/{name}.py {SMALL[name]}", tmp_path / "into"))


@pytest.mark.timeout(600)
def test_a_watch_of_virtual_nights_names_a_slow_cable_in_its_first_night(tmp_path: Path) -> None:
    assert "0 alarms before night 2; cable named in nights [2]" in run_bench(
        f"bench/trend_power.py 3 --virtual {tmp_path}", tmp_path
    )


@pytest.mark.timeout(600)
@pytest.mark.parametrize("kernel", HARNESS)
def test_the_harness_is_compared_with_a_bare_loop(kernel: str, tmp_path: Path) -> None:
    said = run_bench(f"bench/harness.py --kernel {kernel} --rounds 1", tmp_path)
    assert len(re.findall(r"^[\w:]+ +\d+ B +\d\.\d{3} \(", said, re.MULTILINE)) >= 3, said
