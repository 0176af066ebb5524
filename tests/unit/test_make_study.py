# SPDX-License-Identifier: BSD-3-Clause
"""``make study``: this host, and a virtual network beside it where that is allowed; one line and success where not."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from weft.launch.virtual import permission

ROOT = Path(__file__).resolve().parents[2]
pytestmark = pytest.mark.skipif(shutil.which("make") is None, reason="make is not here: apt install make")


def make_study(tmp_path: Path, python: str) -> subprocess.CompletedProcess[str]:
    """Run the recipe with a made environment whose weft tells what it was asked for."""
    programs = tmp_path / "bin"
    programs.mkdir()
    for name, text in (("weft", 'echo "measured $*"'), ("python", python), ("pip", "true")):
        (programs / name).write_text(f"#!/bin/sh\n{text}\n")
        (programs / name).chmod(0o755)
    (tmp_path / "installed").touch()
    return subprocess.run(
        ["make", "--no-print-directory", "study", f"VENV={tmp_path}"],
        cwd=ROOT, capture_output=True, text=True, check=False,
    )  # fmt: skip


def test_where_namespaces_are_allowed_the_virtual_network_is_measured_beside_this_host(tmp_path: Path) -> None:
    done = make_study(tmp_path, "exit 0")
    assert done.returncode == 0, done.stderr
    assert "measured run studies/contention.toml --on virtual-default --on local\n" in done.stdout


def test_where_they_are_forbidden_it_says_so_in_one_line_and_succeeds(tmp_path: Path) -> None:
    done = make_study(tmp_path, "echo no virtual network on this machine: forbidden; exit 1")
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == [
        "no virtual network on this machine: forbidden",
        f"{tmp_path}/bin/weft run studies/contention.toml --on local",
        "measured run studies/contention.toml --on local",
    ]


def test_the_reason_is_one_line_whatever_the_kernel_said(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(permission, "forbidden", lambda: "unshare failed:\nOperation not permitted")
    assert permission.main() == 1
    said = capsys.readouterr().out
    assert said.startswith("no virtual network on this machine: unshare failed: Operation not permitted -> ")
    assert said.count("\n") == 1
    monkeypatch.setattr(permission, "forbidden", lambda: "")
    assert permission.main() == 0
    assert capsys.readouterr().out == ""


def test_installing_says_what_it_does_and_how_long_it_took(tmp_path: Path) -> None:
    programs = tmp_path / "bin"
    programs.mkdir()
    for name in ("pip", "python"):
        (programs / name).write_text("#!/bin/sh\n")
        (programs / name).chmod(0o755)
    command = ["make", "--no-print-directory", f"{tmp_path}/installed", f"VENV={tmp_path}"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    first, last = done.stdout.splitlines()
    assert first == f"installing Weft and its packages into {tmp_path} (once, a minute or two)"
    assert last.startswith("installed in ")
    (tmp_path / "installed").unlink()
    (programs / "pip").write_text("#!/bin/sh\nexit 3\n")
    assert subprocess.run(command, cwd=ROOT, capture_output=True, check=False).returncode != 0
    assert not (tmp_path / "installed").exists(), "an installation that failed is tried again"


@pytest.mark.parametrize("made", [True, False])
def test_setuptools_leaves_an_environment_that_make_made_and_no_other(tmp_path: Path, made: bool) -> None:
    environment, log = tmp_path / "env", tmp_path / "log"
    programs = environment / "bin"
    pip = f'#!/bin/sh\necho "$*" >> {log}\ncase "$*" in *uninstall*) exit 1 ;; esac\n'
    (tmp_path / "pip").write_text(pip)
    (tmp_path / "python").write_text(f"#!/bin/sh\nmkdir -p {programs}\ncp {tmp_path}/pip {programs}\n")
    for name in ("pip", "python"):
        (tmp_path / name).chmod(0o755)
    if not made:
        subprocess.run([str(tmp_path / "python")], check=True)
    command = ["make", "--no-print-directory", f"{environment}/installed", f"VENV={environment}"]
    done = subprocess.run(
        [*command, f"PYTHON={tmp_path}/python"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert log.read_text().split().count("uninstall") == int(made)
    assert done.stdout.splitlines()[-1].startswith("installed in ")


def test_a_long_installation_says_that_it_goes_on_and_nothing_of_it_outlives_it(tmp_path: Path) -> None:
    programs = tmp_path / "bin"
    programs.mkdir()
    (tmp_path / "lib/python3/site-packages/rich.dist-info").mkdir(parents=True)
    (programs / "pip").write_text("#!/bin/sh\nsleep 0.3\n")
    (programs / "pip").chmod(0o755)
    command = ["make", "--no-print-directory", f"{tmp_path}/installed", f"VENV={tmp_path}", "TELL_EACH=0.1"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True, timeout=20)
    told = [line for line in done.stdout.splitlines() if line.startswith("still installing")]
    assert re.fullmatch(r"still installing: packages in place: 1, \d+ s so far", told[0])
    assert done.stdout.splitlines()[-1].startswith("installed in ")
