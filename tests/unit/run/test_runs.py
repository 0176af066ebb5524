# SPDX-License-Identifier: BSD-3-Clause
"""``weft run`` on several fabrics, and what it refuses before anything is built or started."""

from pathlib import Path
from typing import Any

import pytest

from made.run import Made, make_run
from weft.cli.app import main
from weft.errors import FabricError, LaunchError, WeftError
from weft.fabric import load_fabric
from weft.files.shipped import shipped
from weft.launch import cancelling, refuse_capture
from weft.run import many as runs
from weft.run.many import Measuring
from weft.run.refresh import refresh
from weft.store.folder import RunFolder


def test_a_capture_needs_links_of_our_own(tmp_path: Path) -> None:
    with pytest.raises(FabricError, match=r"tara is of kind simulated(?s:.*)--on virtual-default"):
        Measuring("contention", ["tara"], pcap=["n37"])


def test_a_capture_names_a_node_of_the_fabric() -> None:
    with pytest.raises(FabricError, match=r"virtual-default has no such node\n.*node0, node1, node2, node3"):
        refuse_capture(load_fabric("virtual-default"), ["node7"])


def test_a_capture_without_tcpdump_names_the_package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("weft.launch.virtual.counters.SEARCH", str(tmp_path))
    with pytest.raises(LaunchError, match=r"tcpdump(?s:.*)apt install tcpdump"):
        refuse_capture(load_fabric("virtual-default"), ["node0"])


def test_a_wrong_kind_for_a_capture_is_a_mistake_of_the_user(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", "contention", "--on", "local", "--pcap", "node0"]) == 2
    assert "--pcap captures at a node of a virtual fabric; local is of kind local" in capsys.readouterr().err


def test_a_typing_error_in_the_last_fabric_costs_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    def started(*_: Any) -> None:
        raise AssertionError("something was started")

    monkeypatch.setattr(runs, "launcher_for", started)
    with pytest.raises(FabricError, match="virtual-defualt"):
        Measuring("contention", ["local", "virtual-defualt"]).go()


def test_what_cannot_be_planned_is_said_before_anything_is_compiled(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It took 77 s of compiling to learn that the limit of a cell is too short."""

    def compiled(*_: Any, **__: Any) -> None:
        raise AssertionError("a kernel was compiled")

    monkeypatch.setattr(runs, "launcher_for", compiled)
    monkeypatch.chdir(tmp_path)
    text = (shipped("studies") / "bandwidth.toml").read_text()
    Path("short.toml").write_text(text.replace('limit = "300 s"', 'limit = "2 s"'))
    with pytest.raises(WeftError, match=r"limit = 2 s is too short"):
        Measuring("short.toml", ["local"]).go()
    assert not Path("runs").exists()


def test_a_fabric_is_named_once() -> None:
    with pytest.raises(WeftError, match="local twice"):
        Measuring("contention", ["local", "local"])


def test_several_fabrics_get_a_folder_each_and_a_page_on_all(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    asked: list[tuple[str, Path]] = []

    def measured(study: Any, fabric: Any, into: Path, launcher: Any, progress: Any, **_: Any) -> RunFolder:
        asked.append((fabric.name, into))
        return refresh(make_run(into, Made()))

    monkeypatch.setattr(runs, "launcher_for", lambda *_, **__: None)
    monkeypatch.setattr(runs, "run_study", measured)
    assert main(["run", "contention", "--on", "local", "--on", "virtual-default", "--into", str(tmp_path / "all")]) == 0
    assert asked == [(name, tmp_path / "all" / name) for name in ("local", "virtual-default")]
    page = tmp_path / "all" / "contention.html"
    assert f"report on all 2 fabrics: {page}" in capsys.readouterr().out
    assert page.read_text().count("<article") == 2


def test_without_a_place_several_fabrics_go_on_where_they_were_interrupted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    made = Made()
    (tmp_path / "made.toml").write_text(made.study)
    (tmp_path / "one.toml").write_text(made.fabric)
    (tmp_path / "two.toml").write_text(made.fabric.replace("made-host", "other-host"))
    measuring = Measuring("made.toml", ["one.toml", "two.toml"])
    first = Path("runs/made-on-made-host-and-other-host")
    assert measuring._base() == first
    make_run(first / "made-host", made)  # the first is finished, the second never began
    assert measuring._base() == first
    make_run(first / "other-host", Made(fabric=made.fabric.replace("made-host", "other-host")))
    assert measuring._base() == first, "its pages are still to be made"
    for run in ("made-host", "other-host"):
        (first / run / "report.html").write_text("a page")
    assert measuring._base() == first.with_name(f"{first.name}-2")
    next((first / "other-host/cells").glob("c*.json")).unlink()  # the second was interrupted
    assert measuring._base() == first
    (first / "made-host/study.toml").write_text(made.study + "# changed\n")  # a run of something else now
    assert measuring._base() != first


def test_cancel_reaches_the_schedulers_section_and_nothing_else() -> None:
    fabric = load_fabric("tara").model_copy(update={"kind": "slurm"})
    changed = cancelling(fabric)
    assert changed.batch.cancel_on_interrupt
    assert changed.hosts == fabric.hosts
    assert fabric.batch is None or not fabric.batch.cancel_on_interrupt
