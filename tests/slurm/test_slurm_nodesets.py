# SPDX-License-Identifier: BSD-3-Clause
"""Node sets beside ``scontrol show hostnames``, which needs a configuration and no daemon."""

import os
import random
import shutil
import subprocess
from pathlib import Path

import pytest

from weft.errors import WeftError
from weft.fabric.nodeset import expand, fold

SCONTROL = shutil.which("scontrol")
pytestmark = [pytest.mark.slurm, pytest.mark.skipif(SCONTROL is None, reason="no scontrol: apt install slurm-client")]

ACCEPTED = [
    "n1[8-11]", "n[8-11]", "n[08-11]", "n[8-011]", "n[00-000]", "n[1-2,05-06]", "n[3,1,2,1]", "r[1-2]n[1-2]",
    "a[1-2][3-4]", "n[1-3]5[1-2]", "[1-2]", "b2,a1", "a b[1,2],,c,", "n[99999999999-100000000000]",
    "n1000000[1-10]", "a[1-2]b[01-03]c[9-10]", "a.b_c-d[1-2]", "n[01-1]",
]  # fmt: skip
REFUSED = ["n[]", "n[1,]", "n[a-b]", "n[1--3]", "n[-1]", "n[1-10/2]", "n[3-1]", "n[[1-2]]", "n[1-2]]", "n[1-1000000]"]


@pytest.fixture(scope="module")
def configuration(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("slurm") / "slurm.conf"
    path.write_text("ClusterName=x\nSlurmctldHost=localhost\n")
    return path


def slurm_names(configuration: Path, text: str) -> list[str]:
    """Slurm's own word; an error of scontrol's is an AssertionError."""
    environment = {**os.environ, "SLURM_CONF": str(configuration)}
    command = [str(SCONTROL), "show", "hostnames", text]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=30, check=False)
    assert done.returncode == 0, done.stderr
    assert "Invalid" not in done.stdout + done.stderr, done.stdout + done.stderr
    return done.stdout.split()


@pytest.mark.parametrize("text", ACCEPTED)
def test_a_node_set_names_the_hosts_that_slurm_names(configuration: Path, text: str) -> None:
    assert set(expand(text)) == set(slurm_names(configuration, text))


@pytest.mark.parametrize("text", REFUSED)
def test_both_refuse(configuration: Path, text: str) -> None:
    with pytest.raises(WeftError):
        expand(text)
    with pytest.raises(AssertionError, match="Invalid"):
        slurm_names(configuration, text)


def test_random_node_sets_name_the_hosts_that_slurm_names(configuration: Path) -> None:
    chance = random.Random(7)
    for _ in range(100):
        text = ",".join(made_name(chance) for _ in range(chance.randint(1, 3)))
        assert set(expand(text)) == set(slurm_names(configuration, text)), text


def test_slurm_reads_what_is_written_for_it(configuration: Path) -> None:
    """--nodelist was folded to n[1-2]-ib, which Slurm refuses."""
    chance = random.Random(5)
    for _ in range(60):
        ends = [chance.choice(["", "", "-ib", "a"]) for _ in range(6)]
        names = {f"r{chance.randint(0, 3)}n{chance.choice(['1', '01', '2', '10'])}{end}" for end in ends}
        assert set(slurm_names(configuration, fold(names))) == names


def made_name(chance: random.Random) -> str:
    """Texts that end in digits or not, and brackets of ranges with and without padding."""
    name = ""
    for _ in range(chance.randint(1, 3)):
        parts: list[str] = []
        for _ in range(chance.randint(1, 3)):
            low = chance.choice([0, 1, 7, 9, 10, 98, 99, 100])
            width = chance.choice([1, 1, 2, 3])
            parts.append(f"{low:0{width}}" + (f"-{low + chance.randint(0, 4)}" if chance.random() < 0.7 else ""))
        name += chance.choice(["n", "n1", "rack-0", "a.b", "x09"]) + f"[{','.join(parts)}]"
    return name
