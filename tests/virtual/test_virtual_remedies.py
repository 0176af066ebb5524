# SPDX-License-Identifier: BSD-3-Clause
"""Errors of virtual fabrics that name a command: provoked on a standing one, and the command helps."""

import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from clusters import two_leaves

from weft.errors import LaunchError
from weft.launch.virtual.cluster import Cluster
from weft.launch.virtual.counters import capture, read_counters

pytestmark = pytest.mark.virtual


@pytest.fixture
def up() -> Iterator[Cluster]:
    """A standing cluster."""
    cluster = Cluster.start(two_leaves("remedies-test"), standing=True)
    yield cluster
    cluster.close()


def typed(remedy: str) -> str:
    """Type the command that a remedy names; what it printed. ``weft fabric exec`` becomes its command."""
    words = [sys.executable, "-m", "weft.cli.app", *shlex.split(remedy.partition("weft ")[2])]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_a_busy_fabric_is_freed(up: Cluster) -> None:
    with up.reserved(), pytest.raises(LaunchError, match="another weft runs") as caught, up.reserved():
        pass
    typed(caught.value.remedy)
    with pytest.raises(LaunchError, match="no virtual fabric named remedies-test is up"):
        Cluster.find("remedies-test")


def test_nothing_is_up() -> None:
    with pytest.raises(LaunchError, match="no virtual fabric named nobody is up") as caught:
        Cluster.find("nobody")
    try:
        typed(caught.value.remedy)
        assert Cluster.find("virtual-default")
    finally:
        typed("weft fabric down virtual-default")


def test_tcpdump_fails(up: Cluster, tmp_path: Path) -> None:
    node = up.spec.hosts[0]
    with pytest.raises(LaunchError, match="does not start") as caught, capture(up, node, tmp_path / "no" / "x.pcap"):
        pass
    assert caught.value.remedy == f"try it: weft fabric exec --fabric remedies-test {node} tcpdump -D"
    assert "eth0" in typed(caught.value.remedy)


def test_no_counters(up: Cluster, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as broken:
        broken.setattr("weft.launch.virtual.counters.EVERYWHERE", "echo no such device >&2; exit 1")
        with pytest.raises(LaunchError, match="no such device") as caught:
            read_counters(up)
    assert "tbf" in typed(caught.value.remedy)
