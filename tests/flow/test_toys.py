# SPDX-License-Identifier: BSD-3-Clause
"""A toy kernel and a toy scheduler, added from outside by the places that CONTRIBUTING lists, and by no other."""

import shutil
from pathlib import Path
from types import SimpleNamespace

import pytest

from made.batch import request
from made.fake_kernel import FakeLauncher
from made.toys import Toy, ToyScheduler
from made.view import load_view
from weft.analyse.compare.comparison import compare
from weft.analyse.compare.sides import side_of
from weft.errors import FabricError, StudyError
from weft.fabric import Fabric, load_fabric
from weft.fabric.kinds import KINDS, FabricKind
from weft.kernel.registry import KERNELS
from weft.kernel.studies import load_study
from weft.launch import launcher_for
from weft.launch.batch import scheduler as script
from weft.launch.batch.schedulers import SCHEDULERS
from weft.mpi.library import parse_library
from weft.plan.make import make_plan
from weft.plan.wire import flat_plan
from weft.report import page
from weft.report.export import show_object
from weft.report.plan_tables import as_markdown
from weft.run.one import run_study
from weft.study import Study

STUDY = """\
name = "hops"
kernel = "toy"

[measure]
launches = 2
min_samples = 5
max_samples = 12
budget = "1 s"
limit = "7 s"
seed = 3

[[series]]
name = "all"
nodes = 1
ranks_per_node = [2, 4]
"""

CLUSTER = """\
name = "toys"
kind = "toyq"

[node]
names = "n[1-2]"
cores = 4

[network]
adapter_rate = "1 GB/s"
"""


@pytest.fixture
def toy(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Study:
    """The toy kernel in the table of kernels, and a study of it."""
    monkeypatch.setitem(KERNELS, "toy", Toy())
    path = tmp_path / "hops.toml"
    path.write_text(STUDY)
    return load_study(path)


def test_without_its_entry_in_the_table_there_is_no_such_kernel(tmp_path: Path) -> None:
    path = tmp_path / "hops.toml"
    path.write_text(STUDY)
    with pytest.raises(StudyError, match="'toy' is not known"):
        load_study(path)


def test_a_toy_kernel_is_planned_with_memory_bound_and_flat_plan(toy: Study, fabric: Fabric, tmp_path: Path) -> None:
    plan = make_plan(toy, fabric, predict=False)
    two, four = plan.measured
    assert two.memory.rank_bytes == sum(Toy().need(two.parameters, 2, toy.measure).values())
    assert four.bounds["hop@1024"].terms == {"memory copy": pytest.approx(16 * 1024 / 8e9)}
    assert four.bound == four.bounds["hop@1024"]
    assert [len(cells.cells) for cells in plan.launches if cells.id.startswith("g")] == [2] * 4
    assert "a toy is measured" in plan.notes
    launch = next(each for each in plan.launches if each.id.startswith("g"))
    flat = flat_plan(plan, launch, tmp_path)
    assert "\nkernel toy\n" in flat
    assert "\nbytes 8 1024\n" in flat
    assert "2 sizes" in as_markdown(plan)


def test_a_toy_kernel_is_measured_stored_analysed_reported_and_compared(
    toy: Study, fabric: Fabric, tmp_path: Path
) -> None:
    runs = [run_study(toy, fabric, tmp_path / name, FakeLauncher()) for name in ("one", "two")]
    views = [load_view(run) for run in runs]
    view = views[0]
    assert {row["call"] for row in view.rows} == {"hop@8", "hop@1024"}
    assert {row["status"] for row in view.rows} == {"ok"}
    assert all(row["median_s"] and row["bound_s"] for row in view.rows if row["phase"] == "warm")
    assert view.claimed("answer")[0]["value"] == 8
    assert show_object(view)["rows"]
    assert "hop@1024" in page.write([runs[0]], tmp_path / "report.html").read_text()
    one, two = (side_of(each.path, each.plan, name, each.mpi) for each, name in zip(views, ("one", "two"), strict=True))
    assert len(compare(one, two).rows) == 8


def test_a_toy_kernel_that_measured_nothing_is_told_by_the_calls_it_would_have_had(
    toy: Study, fabric: Fabric, tmp_path: Path
) -> None:
    run = run_study(toy, fabric, tmp_path / "run", FakeLauncher(faults={"c000": "crash"}))
    rows = [row for row in load_view(run).rows if row["cell"] == "c000"]
    assert {(row["call"], row["status"]) for row in rows} == {("hop@8", "crash"), ("hop@1024", "crash")}


def test_a_toy_scheduler_serves_its_kind_of_fabric(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "toys.toml").write_text(CLUSTER)
    with pytest.raises(FabricError, match="toyq"):
        load_fabric(tmp_path / "toys.toml")
    templates = Path(shutil.copytree(script.TEMPLATES, tmp_path / "templates"))
    (templates / "toyq.sh.j2").write_text('#!/bin/bash\n#toyq: {{ nodeset }}\n{% include "body.sh.j2" %}\n')
    monkeypatch.setitem(KINDS, "toyq", FabricKind(starter="toyrun"))
    monkeypatch.setitem(SCHEDULERS, "toyq", ToyScheduler)
    monkeypatch.setattr(script, "TEMPLATES", templates)
    program = tmp_path / "weft-measure"  # stands for the kernels, which no scheduler is needed to build
    program.write_text('#!/bin/sh\necho "measured $1"\n')
    program.chmod(0o755)
    built = SimpleNamespace(program=program, variables={}, library=parse_library("Open MPI v4.1.4"), about=dict)

    def build(*_: object, **__: object) -> SimpleNamespace:
        return built

    monkeypatch.setattr("weft.launch.batch.launcher.find_mpi", build)
    monkeypatch.setattr("weft.launch.batch.launcher.build_kernels", build)
    fabric = load_fabric(tmp_path / "toys.toml")
    assert not (fabric.runs_here or fabric.is_model or fabric.label)
    (tmp_path / "launches").mkdir()
    asked = request("c000.l1", ("n1", "n2"), tmp_path)
    (outcome,) = launcher_for(fabric).run([asked])
    assert outcome.returncode == 0
    assert outcome.log.read_text() == f"measured {asked.plan}\n"
    assert "#toyq: n[1-2]" in (tmp_path / "job.toyq.sh").read_text()
