# SPDX-License-Identifier: BSD-3-Clause
"""Commands that are printed or stand in docs and are not Weft's own: packages that there are, and what a shell runs."""

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from weft.doctor import here as doctor
from weft.doctor.here import FOR_DEVELOPERS, PROGRAMS
from weft.errors import LaunchError
from weft.launch.toolchain import tool
from weft.launch.virtual.permission import NEEDED, forbidden

ROOT = Path(__file__).resolve().parents[2]
TEXTS = [ROOT / "README.md", *(ROOT / "docs").rglob("*.md"), *(ROOT / "src").rglob("*.py"), *ROOT.glob("packaging/*/*")]
COMMAND = re.compile(r"apt(?:-get)? install (?:-[\w-]+ )*((?:[a-z0-9][a-z0-9+.-]+[ \n]?)+)")


def packages() -> set[str]:
    """Every Debian package that a text of ours names for installation."""
    lists = [COMMAND.findall(text.read_text()) for text in TEXTS if text.is_file()]
    written = {name for each in lists for names in each for name in names.split()}
    made = {name for each in (*PROGRAMS, *FOR_DEVELOPERS) for name in each[3].split()} | set(NEEDED.values())
    return {name.rstrip(".") for name in written | made}


@pytest.mark.skipif(not shutil.which("apt-cache"), reason="apt-cache is not here, so names of packages stay unchecked")
def test_every_package_that_is_named_for_installation_is_one_of_debians() -> None:
    assert len(packages()) > 12
    known = subprocess.run(["apt-cache", "show", *packages()], capture_output=True, text=True, check=False).stdout
    there = set(re.findall(r"^Package: (\S+)$", known, re.MULTILINE))
    assert sorted(packages() - there) == []


def in_own_mounts(script: str) -> subprocess.CompletedProcess[str]:
    """Run a script as root of a mount namespace of its own, whose /dev it may change."""
    user = [] if os.geteuid() == 0 else ["--user", "--map-root-user"]
    command = ["unshare", *user, "--mount", "sh", "-ec", script]
    return subprocess.run(command, capture_output=True, text=True, check=False)


@pytest.mark.skipif(bool(forbidden()), reason="mount namespaces are not allowed here, so no mount is tried")
def test_what_doctor_says_of_shared_memory_helps(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 0)  # as it is in the namespace
    absent = doctor.shared_memory(tmp_path).remedy
    (tmp_path / "dev/shm").mkdir(parents=True)
    monkeypatch.setattr("shutil.disk_usage", lambda path: type("U", (), {"total": 64 << 20, "free": 60 << 20})())
    small = doctor.shared_memory(tmp_path).remedy.partition(";")[0]
    monkeypatch.undo()
    gone = in_own_mounts(f"mount -t tmpfs tmpfs /dev; {absent}; touch /dev/shm/x")
    assert gone.returncode == 0, gone.stderr
    size = "df --output=size --block-size=1M /dev/shm | tail -1"
    grown = in_own_mounts(f"mount -t tmpfs -o size=64m tmpfs /dev/shm; {small}; {size}")
    assert grown.stdout.strip() == "1024", grown.stderr


def test_what_doctor_says_of_cores_shows_the_mask(monkeypatch: pytest.MonkeyPatch) -> None:
    from weft.mpi.starting import Cores

    monkeypatch.setattr(doctor, "cores_here", lambda: Cores(1, 1, restricted=True))
    command = doctor.cores().remedy.partition(" shows")[0]
    assert "affinity mask" in subprocess.run(["sh", "-c", command], capture_output=True, text=True, check=True).stdout


def test_a_build_tool_that_is_missing_is_installed_beside_weft_by_its_own_pip(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nothing")
    with pytest.raises(LaunchError) as caught:
        tool("no-such-tool")
    program, *words = caught.value.remedy.split()
    assert words == ["install", "no-such-tool"]
    assert subprocess.run([program, "--version"], capture_output=True, check=False).returncode == 0
