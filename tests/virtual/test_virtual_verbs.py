# SPDX-License-Identifier: BSD-3-Clause
"""``weft fabric up``, ``exec`` and ``down`` as a user types them."""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from clusters import variables

pytestmark = pytest.mark.virtual

FILE = """
name = "verbs-test"
kind = "virtual"
[node]
names = "a[1-3]"
cores = 1
[network]
topology = "{topology}"
adapter_rate = "{rate}"
"""


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    """A folder with fabric files; what was brought up in a test is down after it."""
    (tmp_path / "small.toml").write_text(FILE.format(topology="star", rate="10 MB/s"))
    (tmp_path / "fast.toml").write_text(FILE.format(topology="star", rate="10 GB/s"))
    yield tmp_path
    weft(tmp_path, "down", "verbs-test")


def weft(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """Type ``weft fabric ...``."""
    return subprocess.run(
        [sys.executable, "-m", "weft.cli.app", "fabric", *words],
        capture_output=True, text=True, cwd=folder, env=variables(folder), check=False,
    )  # fmt: skip


def test_up_exec_down(folder: Path) -> None:
    up = weft(folder, "up", "small.toml")
    assert up.returncode == 0, up.stderr
    assert "verbs-test is up: 3 hosts, 1 switches" in up.stdout
    assert "weft fabric down verbs-test" in up.stdout
    assert weft(folder, "exec", "a2", "hostname").stdout == "a2\n"
    assert weft(folder, "exec", "a3", "sh", "-c", "exit 7").returncode == 7
    assert weft(folder, "exec", "a1", "ls", "-d", "/").stdout == "/\n"
    down = weft(folder, "down")
    assert (down.returncode, down.stdout) == (0, "verbs-test is down\n")


def test_what_is_up_is_not_brought_up_twice(folder: Path) -> None:
    assert weft(folder, "up", "small.toml").returncode == 0
    again = weft(folder, "up", "small.toml")
    assert again.returncode == 1
    assert "verbs-test is up already" in again.stderr
    assert "-> weft fabric down verbs-test" in again.stderr


def test_without_a_fabric_up_exec_and_down_say_how_to_bring_one_up(folder: Path) -> None:
    for words in (("down", "verbs-test"), ("exec", "--fabric", "verbs-test", "a1", "true")):
        told = weft(folder, *words)
        assert told.returncode == 1
        assert "no virtual fabric named verbs-test is up" in told.stderr
        assert "weft fabric up" in told.stderr


def test_a_fabric_of_another_kind_is_refused(folder: Path) -> None:
    told = weft(folder, "up", "tara")
    assert told.returncode == 2
    assert "tara is a fabric of kind simulated" in told.stderr


def test_links_faster_than_this_machine_are_warned_of(folder: Path) -> None:
    up = weft(folder, "up", "fast.toml")
    assert up.returncode == 0, up.stderr
    assert "warning: the hosts of verbs-test inject 30 GB/s" in up.stderr
