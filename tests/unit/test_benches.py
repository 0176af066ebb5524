# SPDX-License-Identifier: BSD-3-Clause
"""Each command of bench/ that docs name begins in a fresh interpreter: what it imports is found from there."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
TEXTS = [ROOT / "README.md", ROOT / "CHANGELOG.md", *(ROOT / "docs").glob("*.md"), *(ROOT / "bench").glob("*.py")]
NAMED = sorted({name for text in TEXTS for name in re.findall(r"python (bench/\w+\.py)", text.read_text())})
IMPORTS = "import runpy, sys; sys.path[0] = 'bench'; runpy.run_path(sys.argv[1], run_name='imported')"


def test_docs_name_benches() -> None:
    assert len(NAMED) > 10


@pytest.mark.parametrize("bench", NAMED)
def test_a_bench_that_docs_name_finds_what_it_imports(bench: str) -> None:
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    command = [sys.executable, "-c", IMPORTS, bench]
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
