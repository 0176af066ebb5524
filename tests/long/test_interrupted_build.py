# SPDX-License-Identifier: BSD-3-Clause
"""A build of the simulated kernels that is killed goes on: what was compiled is not compiled again."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from weft.errors import LaunchError
from weft.launch.simulated.simgrid import find_simgrid

try:
    find_simgrid()
except LaunchError as error:
    pytestmark = pytest.mark.skip(reason=str(error))
BUILD = "from weft.launch.simulated.simgrid import build_programs, find_simgrid; build_programs(find_simgrid(), print)"
PATIENCE_S = 600


def built(cache: Path) -> dict[Path, int]:
    """Whole objects of a cache, with the times at which they were written."""
    logged = [line.split("\t") for log in cache.rglob(".ninja_log") for line in log.read_text().splitlines()[1:]]
    names = {Path(words[3]).name for words in logged if len(words) == 5}
    return {path: path.stat().st_mtime_ns for path in cache.rglob("*.o") if path.name in names}


@pytest.mark.timeout(1500)
@pytest.mark.parametrize("word", [signal.SIGINT, signal.SIGKILL])
def test_a_killed_build_goes_on_where_it_was(tmp_path: Path, word: signal.Signals) -> None:
    own = {**os.environ, "XDG_CACHE_HOME": str(tmp_path)}
    begun = subprocess.Popen([sys.executable, "-c", BUILD], env=own, start_new_session=True)
    ends_s = time.monotonic() + PATIENCE_S
    while not built(tmp_path) and time.monotonic() < ends_s:
        assert begun.poll() is None, "the build ended before it could be killed"
        time.sleep(0.05)
    os.killpg(begun.pid, word)
    assert begun.wait(PATIENCE_S) != 0
    before = built(tmp_path)
    assert before
    subprocess.run([sys.executable, "-c", BUILD], env=own, check=True, timeout=PATIENCE_S)
    after = built(tmp_path)
    assert len(after) > len(before)  # it had not been at its end
    assert {path: after.get(path) for path in before} == before
