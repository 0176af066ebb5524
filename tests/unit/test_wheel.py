# SPDX-License-Identifier: BSD-3-Clause
"""The wheel, unpacked away from the checkout: it carries what Weft reads, and every verb starts from it."""

import os
import subprocess
import sys
import sysconfig
import zipfile
from pathlib import Path

import pytest

from weft.cli.app import VERBS

ROOT = Path(__file__).parents[2]
BUILD = "import sys, scikit_build_core.build as build; build.build_wheel(sys.argv[1])"
#: Prints where Weft came from, then starts each verb's help in one interpreter: to start one for each costs a minute.
HELP = """
import sys, weft
from weft.cli.app import main
print(weft.__file__)
for verb in sys.argv[1:]:
    sys.argv = ["weft", verb, "--help"]
    try:
        main()
    except SystemExit as end:
        assert not end.code, (verb, end.code)
"""


@pytest.fixture(scope="module")
def unpacked(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder into which the wheel was unpacked."""
    made, into = tmp_path_factory.mktemp("wheel"), tmp_path_factory.mktemp("unpacked")
    subprocess.run([sys.executable, "-c", BUILD, str(made)], cwd=ROOT, check=True, capture_output=True)
    (wheel,) = made.glob("weft-*.whl")
    with zipfile.ZipFile(wheel) as packed:
        packed.extractall(into)
    return into


def python(unpacked: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """Python with the wheel's Weft, in a folder that is not the checkout.

    Without `site`: the hook of an editable installation would be asked before the path, and answer with the checkout.
    """
    packages = dict.fromkeys((sysconfig.get_path("purelib"), sysconfig.get_path("platlib")))
    env = os.environ | {"PYTHONPATH": os.pathsep.join([str(unpacked), *packages])}
    command = [sys.executable, "-S", *words]
    return subprocess.run(command, cwd=unpacked, env=env, text=True, capture_output=True, check=False)


@pytest.mark.parametrize("room", ["native", "studies", "fabrics", "schemas"])
def test_the_wheel_carries_every_file_that_weft_reads(unpacked: Path, room: str) -> None:
    kept = [path.relative_to(ROOT) for path in (ROOT / room).rglob("*") if path.is_file() and path.suffix != ".pyc"]
    assert kept
    assert [str(name) for name in kept if not (unpacked / "weft" / "data" / name).is_file()] == []


def test_every_verb_of_the_wheel_tells_its_help(unpacked: Path) -> None:
    done = python(unpacked, "-c", HELP, *VERBS)
    assert done.returncode == 0, done.stderr
    assert Path(done.stdout.splitlines()[0]).is_relative_to(unpacked)
    others = [verb for verb in VERBS if verb != "help"]  # whose help is that of all
    assert [verb for verb in others if f"Usage: weft {verb}" not in done.stdout] == []


def test_a_study_that_ships_is_planned_from_the_wheel(unpacked: Path) -> None:
    done = python(unpacked, "-m", "weft", "plan", "contention", "--on", "tara")
    assert done.returncode == 0, done.stderr
    assert "contention" in done.stdout
