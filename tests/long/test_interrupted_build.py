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
    """Whole objects of a cache by Ninja's logs, with the times at which they were written; none of CMake's trials."""
    found: dict[Path, int] = {}
    for log in cache.glob("weft/objects-simulated-*/.ninja_log"):
        lines = [line.split("\t") for line in log.read_text().splitlines()[1:]]
        paths = {log.parent / words[3] for words in lines if len(words) == 5 and words[3].endswith(".o")}
        found |= {path: path.stat().st_mtime_ns for path in paths}
    return found


def killed_after(cache: Path, objects: int, word: signal.Signals) -> dict[Path, int]:
    """Start a build, kill it once it has over so many objects; returns those that it left."""
    own = {**os.environ, "XDG_CACHE_HOME": str(cache)}
    begun = subprocess.Popen([sys.executable, "-c", BUILD], env=own, start_new_session=True)
    ends_s = time.monotonic() + PATIENCE_S
    while len(built(cache)) <= objects and time.monotonic() < ends_s:
        assert begun.poll() is None, "the build ended before it could be killed"
        time.sleep(0.05)
    os.killpg(begun.pid, word)
    assert begun.wait(PATIENCE_S) != 0
    return built(cache)


@pytest.mark.timeout(1500)
@pytest.mark.parametrize("word", [signal.SIGINT, signal.SIGKILL])
def test_a_killed_build_goes_on_where_it_was(tmp_path: Path, word: signal.Signals) -> None:
    before = killed_after(tmp_path, 0, word)
    assert before
    after = killed_after(tmp_path, len(before), word)
    assert {path: after.get(path) for path in before} == before
    assert len(after) > len(before)
