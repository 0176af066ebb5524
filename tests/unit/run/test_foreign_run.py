# SPDX-License-Identifier: BSD-3-Clause
"""A run folder from somebody else is data: nothing in it is run, followed or taken at its word."""

import json
import os
import re
import shutil
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from made.batch import Starter, request
from made.kept import copy_of
from weft.errors import DataError, FabricError, WeftError
from weft.fabric.model import BatchSection
from weft.launch.batch.scheduler import Scheduler, render, write_script
from weft.launch.batch.schedulers import SCHEDULERS
from weft.launch.launcher import LaunchRequest
from weft.mpi.algorithms import algorithms, progress_thread, setting
from weft.mpi.knobs import check_settings
from weft.plan.stored import HASH, hash_of, plan_of
from weft.report.page import write
from weft.run.folder import locked
from weft.run.refresh import refresh
from weft.store.folder import RunFolder
from weft.store.records import load_cell_record, load_launch_record
from weft.store.tables import write_parquet


@pytest.fixture
def folder(tmp_path: Path) -> RunFolder:
    """A kept run, as if it had come by mail."""
    return RunFolder(copy_of("exchange", tmp_path))


def edited(folder: RunFolder, change: Callable[[dict[str, Any]], object], *, signed: bool = True) -> RunFolder:
    """The run with another plan; signed by the hash of weft.json, as an attacker would."""
    plan = json.loads(folder.plan.read_text())
    change(plan)
    folder.plan.write_text(json.dumps(plan))
    if signed:
        meta = json.loads(folder.meta.read_text())
        folder.meta.write_text(json.dumps(meta | {HASH: hash_of(folder.plan.read_bytes())}))
    return folder


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("LD_PRELOAD", "/tmp/evil.so"),
        ("PATH", "/tmp/evil"),
        ("PYTHONPATH", "/tmp/evil"),
        ("BASH_ENV", "x"),
        ("HYDRA_LAUNCHER_EXEC", "evil"),
        ("PRTE_MCA_plm_ssh_agent", "evil"),
        ("SLURM_CONF", "evil"),
        ("OMPI_MCA_mca_base_component_path", "evil"),
        ("OMPI_MCA_plm_rsh_agent", "evil"),
        ("OMPI_MCA_mca_base_param_files", "evil"),
        ("FI_PROVIDER_PATH", "evil"),
        ("UCX_MODULE_DIR", "evil"),
        ("I_MPI_HYDRA_BOOTSTRAP_EXEC", "evil"),
        ("MPIR_CVAR_X", "$(id)"),
        ("MPIR_CVAR_X", "/tmp/evil"),
        ("MPIR_CVAR_X\nLD_PRELOAD", "x"),
        ("ompi_mca_x", "1"),
    ],
)
def test_a_stored_plan_sets_no_variable_but_the_librarys_knobs(folder: RunFolder, name: str, value: str) -> None:
    """LD_PRELOAD was taken, and handed to the ranks."""
    edited(folder, lambda plan: plan["launches"][0].update(settings={name: value}))
    with pytest.raises(DataError, match=r"launches\.0\.settings"):
        plan_of(folder)


def test_every_setting_that_weft_itself_makes_passes() -> None:
    for library in ("Open MPI v5.0.11", "MPICH Version: 5.0.0"):
        for collective in ("alltoall", "bcast", "reduce_scatter", "allreduce"):
            for algorithm in algorithms(library, collective, 4):
                made = setting(library, collective, algorithm)
                assert check_settings(made) == made != {}
    for library in ("Open MPI v5.0.11", "Open MPI v6.0.0", "MPICH Version: 5.0.0", "Intel(R) MPI Library 2021.14"):
        thread = progress_thread(library, several_nodes=True)
        assert check_settings(thread) == thread != {}
    knobs = {"UCX_RNDV_THRESH": "inf", "OMPI_MCA_btl": "^openib", "FI_OFI_RXM_BUFFER_SIZE": "16384", "UCX_TLS": "rc,sm"}
    assert check_settings(knobs) == knobs


@pytest.mark.parametrize(
    "change",
    [
        lambda plan: plan["cells"][0].update(id="../../../c000"),
        lambda plan: plan["launches"][0].update(id="../x.l1"),
        lambda plan: plan["launches"][0].update(id="c000.l1\nrm -rf ~"),
        lambda plan: plan["launches"][0].update(cells=["c999"]),
        lambda plan: plan["launches"][0].update(hosts=["-oProxyCommand=evil"]),
        lambda plan: plan["launches"][0].update(ranks=-1),
        lambda plan: plan["cells"][0].update(hosts=["a b"]),
        lambda plan: plan["cells"][0].update(kernel="../exchange"),
        lambda plan: plan["cells"][0].update(parameters={}),
        lambda plan: plan["cells"].append(plan["cells"][0]),
        lambda plan: plan.update(measure=[[[[]]]]),
        lambda plan: plan.update(planned_fabric=None),
    ],
)
def test_a_plan_that_names_other_places_or_does_not_fit_together_is_refused(
    folder: RunFolder, change: Callable[[dict[str, Any]], object]
) -> None:
    edited(folder, change)
    with pytest.raises(DataError, match=r"plan\.json|kernel"):
        plan_of(folder)


def test_a_plan_that_was_edited_is_told_from_the_runs_own(folder: RunFolder) -> None:
    edited(folder, lambda plan: None)
    assert plan_of(folder).study == "small-exchange"
    edited(folder, lambda plan: plan.update(seed=6), signed=False)
    with pytest.raises(DataError, match="was changed since the run was created"):
        plan_of(folder)


@pytest.mark.parametrize("key", ["cell", "launch"])
def test_a_record_names_no_path(folder: RunFolder, key: str) -> None:
    path = folder.cell_record("c000", 1)
    path.write_text(json.dumps(json.loads(path.read_text()) | {key: "../../x"}))
    with pytest.raises(DataError, match=key):
        load_cell_record(path)


def test_a_launch_record_is_of_its_own_launch(folder: RunFolder) -> None:
    own, other = (folder.launches / f"c000.l{index}.json" for index in (1, 2))
    other.write_bytes(own.read_bytes())
    with pytest.raises(DataError, match=r"calls itself launch c000\.l1"):
        load_launch_record(other)


@pytest.mark.parametrize("name", ["lock", "launches/lock", "launches", "cells", "samples", "tables"])
def test_no_link_of_a_run_folder_is_worked_through(folder: RunFolder, tmp_path: Path, name: str) -> None:
    """``launches/lock`` was opened through a link, and whole folders were written elsewhere."""
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    place = folder.path / name
    if place.is_dir():
        place.rename(elsewhere / "moved")
        place.symlink_to(elsewhere / "moved")
    else:
        (elsewhere / "file").write_text("precious")
        place.symlink_to(elsewhere / "file" if "lock" in name else elsewhere)
    with pytest.raises(DataError, match="is a link"), locked(folder, patience_s=0.1):
        pytest.fail("it was locked")
    assert not (elsewhere / "file").exists() or (elsewhere / "file").read_text() == "precious"


@pytest.mark.parametrize("name", ["launches", "cells", "samples", "tables", "inputs"])
def test_showing_a_run_removes_and_writes_nothing_through_a_link(folder: RunFolder, tmp_path: Path, name: str) -> None:
    """``samples -> /home/somebody/data`` had ``weft show`` remove every Parquet file below that folder."""
    elsewhere = tmp_path / "elsewhere"
    (elsewhere / "below").mkdir(parents=True)
    precious = elsewhere / "below" / "precious.parquet"
    precious.write_text("whole")
    shutil.rmtree(folder.path / name, ignore_errors=True)
    (folder.path / name).symlink_to(elsewhere)
    with pytest.raises(DataError, match=f"{name} is a link to"):
        refresh(folder.path, "duckdb://")
    assert [path for path in elsewhere.rglob("*") if path.is_file()] == [precious]


@pytest.mark.parametrize("name", ["cells", "launches", "samples", "tables"])
def test_a_file_in_the_place_of_a_folder_is_no_traceback(folder: RunFolder, name: str) -> None:
    shutil.rmtree(folder.path / name, ignore_errors=True)
    (folder.path / name).write_text("x")
    with suppress(WeftError):
        refresh(folder.path, "duckdb://")


@pytest.mark.parametrize("kind", ["link", "hard link", "pipe"])
def test_nothing_is_written_through_what_lies_in_a_files_place(folder: RunFolder, tmp_path: Path, kind: str) -> None:
    import pyarrow as pa

    from weft.files.atomic import write_atomic

    precious = tmp_path / "precious"
    precious.write_text("whole")

    def plant(path: Path) -> Path:
        if kind == "pipe":
            os.mkfifo(path)
        elif kind == "link":
            path.symlink_to(precious)
        else:
            path.hardlink_to(precious)
        return path

    plant(folder.path / "weft.json.part")
    with pytest.raises(DataError):
        write_atomic(folder.meta, b"{}")
    folder.tables.mkdir(exist_ok=True)
    plant(folder.tables / "x.parquet.part")
    schema = pa.schema([("a", pa.int64())])
    with pytest.raises(DataError):
        write_parquet(folder.tables / "x.parquet", [pa.table({"a": [1]})], schema, "weft-x/1")
    with pytest.raises(OSError, match=r"link|regular|No such device"):
        write_script(plant(folder.path / "job.slurm.sh"), "text")
    assert precious.read_text() == "whole"


@pytest.mark.parametrize("scheduler", [make() for make in SCHEDULERS.values()], ids=lambda scheduler: scheduler.name)
def test_a_folder_with_a_line_end_gets_into_no_job_script(scheduler: Scheduler) -> None:
    asked = request("c000.l1", ("n0",))
    evil = LaunchRequest(**{**vars(asked), "folder": Path("/tmp/x\ntouch evil\n#")})
    starter = Starter(lambda one: ["true"])
    with pytest.raises(FabricError, match="cannot be written into a job script"):
        render(scheduler, BatchSection.model_validate({}), [evil], "name", starter)


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("partition", "p\nrm -rf ~"), ("partition", "p --uid=0"), ("account", "a$(id)"), ("account", "-x"),
        ("options", ["--x\nid"]), ("options", ["--x\x85id"]),
    ],
)  # fmt: skip
def test_a_fabric_file_gets_no_command_into_the_head_of_a_script(key: str, value: object) -> None:
    with pytest.raises(ValueError, match=key):
        BatchSection.model_validate({key: value})


def test_locks_that_ompio_left_beside_a_part_are_swept(folder: RunFolder) -> None:
    left = folder.cells / "c000.l1.npy.0123456789abcdef.part-12345.lock"
    left.touch()
    assert left in list(folder.leftovers({"c000"}))
    assert not [path for path in folder.leftovers({"c000"}) if path.suffix in {".json", ".npy"}]


@pytest.mark.parametrize(
    ("name", "value"), [("launcher", None), ("launcher", []), ("run", 7), ("seed", "x"), ("weft", [[]])]
)
def test_an_entry_of_another_kind_in_weft_json_is_told(folder: RunFolder, name: str, value: object) -> None:
    """``launcher: null`` was a traceback."""
    folder.meta.write_text(json.dumps(json.loads(folder.meta.read_text()) | {name: value}))
    with pytest.raises(DataError, match=f"weft.json: {name} is"):
        folder.metadata()


@pytest.mark.parametrize("content", ["[" * 100_000, '{"a":' * 100_000, "[]", "", "\xff", "null", "1e999999"])
@pytest.mark.parametrize("file", ["weft.json", "plan.json", "cells/c000.l1.json", "launches/c000.l1.json"])
def test_nested_or_torn_json_of_a_run_is_one_message(folder: RunFolder, file: str, content: str) -> None:
    (folder.path / file).write_text(content)
    with pytest.raises(DataError, match=re.escape(Path(file).name)):
        refresh(folder.path)


def test_records_that_do_not_make_a_whole_are_one_message(folder: RunFolder) -> None:
    """Each is well formed; together they gave errors of DuckDB and pyarrow."""
    path = folder.cell_record("c000", 1)
    record = json.loads(path.read_text())
    record["segments"][0]["warmup"] = 2**40
    path.write_text(json.dumps(record))
    with pytest.raises(DataError, match=r"warmup|no tables can be made"):
        refresh(folder.path)


def test_a_report_writes_no_figure_out_of_the_run(folder: RunFolder, tmp_path: Path) -> None:
    """Through a link named figures it wrote over files of others."""
    refresh(folder.path)
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (folder.path / "figures").symlink_to(elsewhere)
    with pytest.raises(DataError, match="figures is a link"):
        write([folder.path], folder.report)
    assert not list(elsewhere.iterdir())
