# SPDX-License-Identifier: BSD-3-Clause
"""Files that a study names: a run measures its own copy, and does not go on with another file under the same name."""

from pathlib import Path

import pytest

from made.fake_kernel import FakeLauncher, read_plan
from weft.errors import DataError
from weft.fabric import Fabric, load_fabric
from weft.kernel.studies import load_study
from weft.plan.stored import plan_of
from weft.run.extend import copy_inputs
from weft.run.one import run_study
from weft.run.refresh import refresh
from weft.store.folder import RunFolder
from weft.study import Study

pytestmark = pytest.mark.usefixtures("only_measure")

STUDY = """
name = "skewed"
kernel = "collective"

[measure]
launches = 2
seed = 5

[placement]
oversubscribe = true

[collective]
collectives = ["Alltoallv"]
patterns = ["matrix"]
matrix = "traffic.txt"
sizes = ["8 B"]
refine = 0

[[series]]
name = "all"
nodes = [1]
ranks_per_node = 2
"""


@pytest.fixture
def matrix(tmp_path: Path) -> Path:
    path = tmp_path / "traffic.txt"
    path.write_text("0 1\n2 3\n")
    return path


@pytest.fixture
def skewed(matrix: Path) -> Study:
    path = matrix.with_name("skewed.toml")
    path.write_text(STUDY)
    return load_study(str(path))


@pytest.fixture
def here() -> Fabric:
    return load_fabric("local")


def weights(folder: Path) -> set[str]:
    """What the launches of a run were told to send."""
    plans = [read_plan(path) for path in sorted((folder / "launches").glob("*.plan"))]
    return {cell["weights"] for plan in plans for cell in plan.cells if "weights" in cell}


def test_a_run_that_goes_on_with_another_matrix_is_refused(
    skewed: Study, here: Fabric, matrix: Path, tmp_path: Path
) -> None:
    """Two matrices were measured in one run, and it said "3 ok"."""
    into = tmp_path / "run"
    run_study(skewed, here, into, FakeLauncher())
    for record in (into / "cells").glob("c000.l2.*"):
        record.unlink()
    matrix.write_text("0 9\n9 0\n")
    with pytest.raises(DataError, match="has changed since") as caught:
        run_study(skewed, here, into, FakeLauncher())
    assert str(into / "inputs" / "traffic.txt") in caught.value.remedy
    assert weights(into) == {"0 1 2 3"}


def test_a_run_whose_matrix_is_gone_goes_on_with_its_own_copy(
    skewed: Study, here: Fabric, matrix: Path, tmp_path: Path
) -> None:
    into = tmp_path / "run"
    run_study(skewed, here, into, FakeLauncher())
    for record in (into / "cells").glob("c000.l2.*"):
        record.unlink()
    matrix.unlink()
    folder = run_study(skewed, here, into, FakeLauncher())
    assert weights(into) == {"0 1 2 3"}
    assert plan_of(folder).cell("c000").parameters["matrix"] == str(matrix)


def test_a_run_that_lost_its_copy_says_so(skewed: Study, here: Fabric, tmp_path: Path) -> None:
    into = tmp_path / "run"
    run_study(skewed, here, into, FakeLauncher())
    (into / "inputs" / "traffic.txt").unlink()
    with pytest.raises(DataError, match=r"traffic\.txt"):
        run_study(skewed, here, into, FakeLauncher())


def test_a_copy_that_was_edited_is_told_by_whoever_reads_the_run(
    skewed: Study, here: Fabric, matrix: Path, tmp_path: Path
) -> None:
    """With the original gone, the run went on with it; `show` never looked."""
    into = tmp_path / "run"
    run_study(skewed, here, into, FakeLauncher())
    copy = into / "inputs" / "traffic.txt"
    refresh(into)
    matrix.unlink()
    whole = copy.read_bytes()
    for at in range(len(whole)):
        copy.write_bytes(whole[:at] + bytes([whole[at] ^ 1]) + whole[at + 1 :])
        with pytest.raises(DataError, match=r"traffic\.txt was changed since the run was created"):
            refresh(into)
        with pytest.raises(DataError, match=r"traffic\.txt was changed since the run was created"):
            run_study(skewed, here, into, FakeLauncher())
    copy.write_bytes(whole)
    refresh(into)
    run_study(skewed, here, into, FakeLauncher())


def test_two_files_of_one_name_are_refused(skewed: Study, here: Fabric, matrix: Path, tmp_path: Path) -> None:
    """The second copy replaced the first, and both were read as the second."""
    plan = plan_of(run_study(skewed, here, tmp_path / "run", FakeLauncher()))
    other = tmp_path / "other" / matrix.name
    other.parent.mkdir()
    named = [cell.model_copy(update={"parameters": {**cell.parameters, "table": str(other)}}) for cell in plan.cells]
    both = plan.model_copy(update={"cells": tuple(named)})
    other.write_text("0 1\n2 4\n")
    with pytest.raises(DataError, match=r"also called traffic\.txt"):
        copy_inputs(RunFolder(tmp_path / "second"), both)
    other.write_bytes(matrix.read_bytes())
    copy_inputs(RunFolder(tmp_path / "third"), both)
