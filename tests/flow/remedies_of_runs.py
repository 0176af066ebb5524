# SPDX-License-Identifier: BSD-3-Clause
"""Cases of errors about runs: their folders, tables, launches."""

import shlex
import shutil
from dataclasses import replace
from pathlib import Path

import pytest
from remedies import Cases, Typed, faked, run_here

from made.fake_kernel import FakeLauncher
from weft.errors import WeftError
from weft.fit.inputs import read_cells
from weft.report import page
from weft.report.view import RunView
from weft.store.folder import RunFolder

CASES = Cases()


@CASES.of("store/folder.py", "weft run STUDY --on FABRIC makes one")
def no_run(typed: Typed, monkeypatch: pytest.MonkeyPatch) -> None:
    assert "weft run STUDY --on FABRIC" in typed.fails("show", "nowhere")
    faked(monkeypatch)
    run = run_here()
    typed("run", run / "study.toml", "--on", run / "fabric.toml", "--into", "nowhere")
    assert RunFolder.open(Path("nowhere"))


@CASES.of("store/tables.py", "`weft show {}` makes the tables again")
def torn_table(typed: Typed) -> None:
    from weft.report.view import load_view

    run = run_here()
    typed("show", run)
    for spoil in (
        Path.unlink,
        lambda path: path.write_bytes(path.read_bytes()[:-9]),
        lambda path: path.write_bytes(b""),
    ):
        spoil(run / "tables" / "calls.parquet")
        with pytest.raises(WeftError) as caught:
            load_view(run)
        command = shlex.split(caught.value.remedy.split("`")[1])
        assert typed(*command[1:])
        load_view(run)
    shutil.copy(run / "tables" / "cells.parquet", run / "tables" / "calls.parquet")  # one swapped for another
    assert typed("show", run)


@CASES.of("store/pair_scan.py", "`weft show {}` makes it again")
@CASES.of("store/pair_layout.py", "`weft show {}` makes it and its runs again")
def torn_samples(typed: Typed) -> None:
    from weft.store.pair_scan import scan

    run = run_here("pairs")
    typed("show", run)
    for place in ("samples", "samples/runs"):
        path = sorted((run / place).glob("c*.parquet"))[0]
        path.write_bytes(path.read_bytes()[:-9])
        with pytest.raises(WeftError) as caught:
            scan(sorted((run / "samples").glob("c*.parquet")), {})
        (run / "tables" / "calls.parquet").unlink()
        command = shlex.split(caught.value.remedy.split("`")[1])
        assert typed(*command[1:])


@CASES.of("store/cells.py", "repeat the same `weft run`")
@CASES.of("store/records.py", "repeat the same `weft run`")
@CASES.of("store/parquet.py", "repeat the same `weft run`")
@CASES.of("store/pair_layout.py", "repeat the same `weft run`")
def torn_cell(typed: Typed, monkeypatch: pytest.MonkeyPatch) -> None:
    launcher = faked(monkeypatch)
    run = run_here()
    command = ("run", run / "study.toml", "--on", run / "fabric.toml", "--into", "mine")
    typed(*command)
    launcher.started.clear()
    torn = Path("mine/cells/c001.l2.json")
    torn.write_text(torn.read_text()[:-40])
    assert "repeat the same `weft run`" in typed.fails("show", "mine")
    typed(*command)
    assert launcher.started == ["c001.l2"]


@CASES.of("plan/records.py", "measure again")
def plan_gone(typed: Typed, monkeypatch: pytest.MonkeyPatch) -> None:
    faked(monkeypatch)
    run = run_here()
    typed("show", run)
    (run / "plan.json").unlink()
    remedy = typed.fails("show", run)
    typed(*shlex.split(remedy.partition("measure again: weft ")[2]))
    assert RunFolder.open(Path(f"{run}-again"))


@CASES.of("fit/inputs.py", "weft show {} makes the tables")
def no_tables_to_fit(typed: Typed) -> None:
    run = run_here()
    with pytest.raises(WeftError) as caught:
        read_cells(run)
    typed(*shlex.split(caught.value.remedy)[1:3])
    assert read_cells(run)


@CASES.of("report/compare/__init__.py", "weft compare BASE OTHER")
def compare_of_one(typed: Typed) -> None:
    assert "weft compare BASE OTHER" in typed.fails("compare")
    run = run_here()
    assert typed("compare", run, shutil.copytree(run, "other"))


@CASES.of("analyse/compare/trend.py", "weft compare --trend RUN...")
def history_of_one(typed: Typed) -> None:
    run = run_here()
    assert "weft compare --trend RUN..." in typed.fails("compare", "--trend", run)
    assert "a change is looked for from 10 on" in typed("compare", "--trend", run, shutil.copytree(run, "other"))


@CASES.of("report/page.py", "weft report RUN... -o report.html")
def report_of_none(typed: Typed) -> None:
    with pytest.raises(WeftError, match="no run was given") as caught:
        page.write([], Path("report.html"))
    assert "weft report RUN... -o report.html" in caught.value.remedy
    typed("report", run_here(), "-o", "report.html")
    assert Path("report.html").stat().st_size > 10_000


@CASES.of("run/failure.py", "weft doctor looks for causes")
def ranks_do_not_start(typed: Typed, monkeypatch: pytest.MonkeyPatch) -> None:
    names = [f"{kind}00{number}.l{launch}" for kind in "cf" for number in range(3) for launch in (1, 2, 3)]
    faked(monkeypatch, FakeLauncher(dict.fromkeys(names, "start")))
    run = run_here()
    remedy = typed.fails("run", run / "study.toml", "--on", run / "fabric.toml", "--into", "mine")
    assert Path(remedy.partition("output is in ")[2].partition(";")[0]).is_file()
    assert "MPI" in typed("doctor")


@CASES.of("cli/tune.py", "weft exec -- mpirun")
@CASES.of("launch/preload.py", "weft exec -- mpirun")
def nothing_to_run(typed: Typed, monkeypatch: pytest.MonkeyPatch) -> None:
    started: list[list[str]] = []
    monkeypatch.setattr("weft.launch.preload.build_preload", lambda *_: Path("/libweft.so"))
    monkeypatch.setattr("weft.launch.preload.wait_for", lambda words: (started.append(words) or 0, 0))
    assert "weft exec -- mpirun -n 4 ./application" in typed.fails("exec")
    assert "weft exec -- mpirun -n 4 ./application" in typed.fails("exec", "--", "no-such-starter")
    mpi = type("Mpi", (), {"described": lambda self: None})()
    monkeypatch.setattr("weft.launch.preload.mpi_of", lambda *_: mpi)  # whatever mpirun this host has
    typed("exec", "--", "mpirun", "-n", "4", "./application")
    assert started[0][-4:] == ["mpirun", "-n", "4", "./application"]


@CASES.of("papers/calls.py", "weft show {} says why")
def first_calls_without_times(typed: Typed) -> None:
    from weft.papers import Bench
    from weft.papers.calls import explained
    from weft.report.view import load_view

    run = run_here()
    typed("show", run)

    class Elsewhere(Bench):
        """Gives a run on other nodes, whose call B has no warm time."""

        def run(self, study: str, fabric: object) -> RunView:
            view = load_view(run)
            return replace(view, rows=[row for row in view.rows if row["call"] != "B"])

    with pytest.raises(WeftError, match="has no time of B") as caught:
        explained(Elsewhere(Path()), "made", "as made", {})
    assert typed(*shlex.split(caught.value.remedy.removesuffix(" says why"))[1:])
