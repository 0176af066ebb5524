# SPDX-License-Identifier: BSD-3-Clause
"""``weft check`` and a study on 64 nodes of a real Slurm: as a job, inside salloc, and in the first lines of a job."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from test_slurm import ROOT, WHEEL

from weft.launch.slurm_here import why_not
from weft.store.folder import RunFolder

pytestmark = [pytest.mark.slurm, pytest.mark.long, pytest.mark.skipif(bool(why_not()), reason=f"no Slurm: {why_not()}")]

WEFT = f"{sys.executable} -m weft"
#: The nodes share this host and its cores: what a check finds depends on who else computes, so its verdict may be any.
VERDICTS = ("0", "1", "3")
JOB = f"""#!/bin/sh
#SBATCH --nodes=64 --time=10 --output=job.out
{WEFT} check --on slurm-here.toml --time 60s --into r-script --exclude-file slow.txt
echo "script $?"
"""
INSIDE = f"""
{WEFT} check --on slurm-here.toml --time 60s --into r-job; echo "job $?"
salloc --nodes=64 --quiet {WEFT} check --on slurm-here.toml --time 60s --into r-salloc; echo "salloc $?"
sbatch --wait --quiet job.sh; cat job.out
"""


@pytest.mark.timeout(900)
def test_64_nodes_are_checked_as_a_job_inside_salloc_and_in_a_job_script(tmp_path: Path) -> None:
    (tmp_path / "job.sh").write_text(JOB)
    words = [*WEFT.split(), "fabric", "slurm-here", "--nodes", "64", "bash", "-c", INSIDE]
    own = {**os.environ, "PYTHONPATH": str(ROOT / "src"), "WEFT_MPICXX": str(WHEEL)}
    done = subprocess.run(words, cwd=tmp_path, env=own, capture_output=True, text=True, check=False, timeout=840)
    said = done.stdout + done.stderr
    codes = dict(line.split() for line in done.stdout.splitlines() if line.startswith(("job ", "salloc ", "script ")))
    assert codes.keys() == {"job", "salloc", "script"}, said
    assert set(codes.values()) <= set(VERDICTS), said
    for name, jobs in (("r-job", True), ("r-salloc", False), ("r-script", False)):
        folder = RunFolder(tmp_path / name)
        ranks = json.loads(next(iter(sorted((folder.path / "launches").glob("*.l1.json")))).read_text())["ranks"]
        assert len(ranks) == 64  # all of this host, which they name
        assert any(folder.path.glob("job-*.log")) == jobs
