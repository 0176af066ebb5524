# SPDX-License-Identifier: BSD-3-Clause
"""Every error that names a command of Weft: it is provoked, the command is run, and it helps.

The errors are collected from the sources, so a new one without a case here fails.
"""

import ast
import re
import shlex
import shutil
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path

import numpy as np
import pytest

from made.fake_kernel import FakeLauncher
from made.kept import copy_of
from weft.cli.app import main
from weft.errors import FabricError, LaunchError, WeftError
from weft.fabric import load_fabric
from weft.fabric.network import build_network
from weft.fit.inputs import read_cells
from weft.launch.simulated.machine import stated
from weft.route.patterns import matrix_loads
from weft.route.routes import Routes
from weft.store.folder import RunFolder

TESTS = Path(__file__).parents[1]
SOURCES = TESTS.parent / "src" / "weft"
DUMPS = TESTS / "data" / "networks"
VERB = re.compile(r"\bweft` ?|\bweft (?:run|show|report|compare|fabric|route|place|doctor|plan|fidelity|exec)\b")


def text_of(node: ast.AST, known: dict[str, str]) -> str:
    """The text of an expression; ``{}`` for what is filled in."""
    if isinstance(node, ast.Constant):
        return node.value if isinstance(node.value, str) else ""
    if isinstance(node, ast.JoinedStr):
        return "".join(text_of(part, known) or "{}" for part in node.values)
    if isinstance(node, ast.FormattedValue):
        return text_of(node.value, {name: text for name, text in known.items() if VERB.search(text)})
    if isinstance(node, ast.BinOp):
        return text_of(node.left, known) + text_of(node.right, known)
    if isinstance(node, ast.IfExp):
        return text_of(node.body, known) + text_of(node.orelse, known)
    return known.get(node.id, "") if isinstance(node, ast.Name) else ""


def collected() -> set[tuple[str, str]]:
    """File and remedy of each error in the sources whose remedy names a verb."""
    trees = {path.relative_to(SOURCES).as_posix(): ast.parse(path.read_text()) for path in SOURCES.rglob("*.py")}
    known: dict[str, str] = {}
    for whole in trees.values():
        for made in (node for node in ast.walk(whole) if isinstance(node, ast.Assign)):
            known |= {name.id: text_of(made.value, {}) for name in made.targets if isinstance(name, ast.Name)}
    found: set[tuple[str, str]] = set()
    for name, whole in trees.items():
        for call in (node for node in ast.walk(whole) if isinstance(node, ast.Call)):
            called = call.func.id if isinstance(call.func, ast.Name) else getattr(call.func, "attr", "")
            if called.endswith("Error") or called in ("error", "tell"):
                texts = [text_of(part, known) for part in [*call.args[1:], *(word.value for word in call.keywords)]]
                found |= {(name, text) for text in texts if VERB.search(text)}
    return found


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Commands are typed in an empty folder."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


class Typed:
    """Types commands, and keeps what was printed."""

    def __init__(self, capsys: pytest.CaptureFixture[str]) -> None:
        self.capsys = capsys

    def __call__(self, *words: object) -> str:
        """Run a command that works; what it printed."""
        self.capsys.readouterr()
        code = main([str(word) for word in words])
        said = self.capsys.readouterr()
        assert code == 0, said.err
        return said.out + said.err

    def fails(self, *words: object) -> str:
        """Run a command that does not; its remedy."""
        self.capsys.readouterr()
        assert main([str(word) for word in words]) in (1, 2)
        return self.capsys.readouterr().err.partition("-> ")[2].strip()


@pytest.fixture
def typed(capsys: pytest.CaptureFixture[str]) -> Typed:
    return Typed(capsys)


def run_here(name: str = "exchange") -> Path:
    """A kept run in this folder."""
    return copy_of(name, Path.cwd())


def fabric_of(dump: str, typed: Typed, *more: object) -> Path:
    """A fabric file made of a dump by the verb."""
    typed("fabric", "import", DUMPS / dump, "-o", "imported.toml", *more)
    return Path("imported.toml")


def faked(monkeypatch: pytest.MonkeyPatch, launcher: FakeLauncher | None = None) -> FakeLauncher:
    """Let ``weft run`` start no ranks but ours, and make no pages."""
    made = launcher or FakeLauncher()
    monkeypatch.setattr("weft.run.many.launcher_for", lambda *_, **__: made)
    monkeypatch.setattr("weft.run.one.make_tables", lambda folder: None)
    monkeypatch.setattr("weft.report.tables.show", lambda *_: None)
    monkeypatch.setattr("weft.report.page.write", lambda *_, **__: None)
    return made


CASES: dict[tuple[str, str], Callable[..., None]] = {}


def case(file: str, remedy: str) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Enter a function as the case of the errors of a file whose remedies hold a text."""

    def entered(function: Callable[..., None]) -> Callable[..., None]:
        CASES[file, remedy] = function
        return function

    return entered


@case("store/folder.py", "weft run STUDY --on FABRIC makes one")
def no_run(typed: Typed, monkeypatch: pytest.MonkeyPatch) -> None:
    assert "weft run STUDY --on FABRIC" in typed.fails("show", "nowhere")
    faked(monkeypatch)
    run = run_here()
    typed("run", run / "study.toml", "--on", run / "fabric.toml", "--into", "nowhere")
    assert RunFolder.open(Path("nowhere"))


@case("store/tables.py", "`weft show {}` makes the tables again")
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


@case("store/pair_scan.py", "`weft show {}` makes it again")
@case("store/pair_runs.py", "`weft show {}` makes it and its runs again")
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


@case("store/cells.py", "repeat the same `weft run`")
@case("store/records.py", "repeat the same `weft run`")
@case("store/parquet.py", "repeat the same `weft run`")
@case("store/pair_layout.py", "repeat the same `weft run`")
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


@case("plan/records.py", "measure again")
def plan_gone(typed: Typed, monkeypatch: pytest.MonkeyPatch) -> None:
    faked(monkeypatch)
    run = run_here()
    typed("show", run)
    (run / "plan.json").unlink()
    remedy = typed.fails("show", run)
    typed(*shlex.split(remedy.partition("measure again: weft ")[2]))
    assert RunFolder.open(Path(f"{run}-again"))


@case("fit/inputs.py", "weft show {} makes the tables")
def no_tables_to_fit(typed: Typed) -> None:
    run = run_here()
    with pytest.raises(WeftError) as caught:
        read_cells(run)
    typed(*shlex.split(caught.value.remedy)[1:3])
    assert read_cells(run)


@case("report/compare/load.py", "weft compare BASE OTHER")
def compare_of_one(typed: Typed) -> None:
    assert "weft compare BASE OTHER" in typed.fails("compare")
    run = run_here()
    assert typed("compare", run, shutil.copytree(run, "other"))


@case("report/page.py", "weft report RUN... -o report.html")
def report_of_none(typed: Typed) -> None:
    assert "weft report RUN... -o report.html" in typed.fails("report")
    typed("report", run_here(), "-o", "report.html", "--no-figures")
    assert Path("report.html").stat().st_size > 10_000


@case("fabric/readers/__init__.py", "weft fabric import NETWORK --tables TABLES")
def tables_for_a_network(typed: Typed) -> None:
    assert "--tables TABLES" in typed.fails("fabric", "import", DUMPS / "small-lfts.dump", "-o", "x.toml")
    fabric = fabric_of("small.ibnetdiscover", typed, "--tables", DUMPS / "small-lfts.dump")
    typed("fabric", "show", fabric)


@case("fabric/network/build.py", "weft fabric import DUMP writes the names")
def foreign_nodes(typed: Typed) -> None:
    fabric = fabric_of("small.ibnetdiscover", typed)
    right = load_fabric(fabric).node.names
    fabric.write_text(re.sub(r'names = ".*"', 'names = "n[1-4]"', fabric.read_text()))
    assert "weft fabric import DUMP" in typed.fails("fabric", "show", fabric)
    typed("fabric", "import", DUMPS / "small.ibnetdiscover", "-o", "again.toml")
    assert load_fabric("again.toml").node.names == right
    typed("fabric", "show", "again.toml")


@case("fabric/network/build.py", "weft fabric show FILE lists the names")
def foreign_rates(typed: Typed) -> None:
    fabric = fabric_of("small.ibnetdiscover", typed)
    good = fabric.read_text()
    fabric.write_text(good + '\n[network.rates]\n"leaf7 - spine0" = "1 GB/s"\n')
    assert "taken out, weft fabric show FILE" in typed.fails("fabric", "show", fabric)
    fabric.write_text(good)
    network = build_network(load_fabric(fabric))
    leaf, host = network.switches[int(network.leaf[0])].name, network.hosts[0]
    shown = typed("fabric", "show", fabric)
    assert leaf in shown
    assert host in shown
    fabric.write_text(good + f'\n[network.rates]\n"{leaf} - {host}" = "1 GB/s"\n')
    typed("fabric", "show", fabric)


@case("fabric/network/graph.py", "weft fabric show FILE lists them")
def no_such_host(typed: Typed) -> None:
    fabric = fabric_of("small.ibnetdiscover", typed)
    remedy = typed.fails("route", "show", fabric, "--placement", "nobody")
    assert "weft fabric show FILE lists them" in remedy
    shown = typed("fabric", "show", fabric)
    assert all(name in shown for name in build_network(load_fabric(fabric)).hosts)


@case("fabric/network/graph.py", "weft fabric check FILE names what is not connected")
@case("route/patterns.py", "weft fabric check FILE names what is not connected")
def no_route(typed: Typed, capsys: pytest.CaptureFixture[str]) -> None:
    from weft.launch.route_library import route_library

    dump = Path("cut.ibnetdiscover")
    text = (DUMPS / "small.ibnetdiscover").read_text()
    cut = [line for line in text.splitlines() if "100005" not in line or line.startswith(("Ca", "caguid"))]
    dump.write_text("\n".join(cut) + "\n")
    typed("fabric", "import", dump, "-o", "imported.toml")
    network = build_network(load_fabric("imported.toml"))
    lonely = next(host for host in network.hosts if network.uplink[network.index[host]] < 0)
    with pytest.raises(FabricError, match="no route") as caught:
        network.route(next(host for host in network.hosts if host != lonely), lonely)
    assert "weft fabric check FILE" in caught.value.remedy
    with pytest.raises(FabricError, match="has no route") as caught:
        matrix_loads(Routes(network, route_library()), np.ones((len(network.hosts),) * 2))
    assert "weft fabric check FILE" in caught.value.remedy
    assert main(["fabric", "check", "imported.toml"]) == 1
    assert lonely in capsys.readouterr().out


@case("route/given.py", "weft fabric import DUMP -o FILE")
def cables_unknown(typed: Typed) -> None:
    Path("topology.conf").write_text(
        "SwitchName=a Nodes=n[1-2]\nSwitchName=b Nodes=n[3-4]\nSwitchName=s Switches=a,b\n"
    )
    typed("fabric", "import", "topology.conf", "-o", "slurm.toml")
    assert "weft fabric import DUMP -o FILE" in typed.fails("route", "show", "slurm.toml")
    typed("route", "show", fabric_of("small.ibnetdiscover", typed))


@case("plan/best.py", "weft fabric import DUMP -o FILE")
def best_nodes_without_cables(typed: Typed) -> None:
    Path("topology.conf").write_text(
        "SwitchName=a Nodes=n[1-2]\nSwitchName=b Nodes=n[3-4]\nSwitchName=s Switches=a,b\n"
    )
    kept = (run_here() / "study.toml").read_text()
    text = re.sub(r"nodes = .*", "nodes = 2", kept)
    Path("study.toml").write_text(text + '\n[placement]\nnodes = "best"\n')
    typed("fabric", "import", "topology.conf", "-o", "slurm.toml", "--node", DUMPS / "two-sockets.xml")
    assert "weft fabric import DUMP -o FILE" in typed.fails("plan", "study.toml", "--on", "slurm.toml")
    typed("fabric", "import", DUMPS / "small.ibnetdiscover", "-o", "cables.toml", "--node", DUMPS / "two-sockets.xml")
    assert "best" in typed("plan", "study.toml", "--on", "cables.toml")


@case("run/walk.py", "weft doctor looks for causes")
def ranks_do_not_start(typed: Typed, monkeypatch: pytest.MonkeyPatch) -> None:
    names = [f"{kind}00{number}.l{launch}" for kind in "cf" for number in range(3) for launch in (1, 2, 3)]
    faked(monkeypatch, FakeLauncher(dict.fromkeys(names, "start")))
    run = run_here()
    remedy = typed.fails("run", run / "study.toml", "--on", run / "fabric.toml", "--into", "mine")
    assert Path(remedy.partition("output is in ")[2].partition(";")[0]).is_file()
    assert "MPI" in typed("doctor")


@case("launch/simulated/machine.py", "fitted with weft fabric fit")
def number_not_stated(typed: Typed) -> None:
    fabric = load_fabric(fabric_of("small.ibnetdiscover", typed))
    with pytest.raises(FabricError, match=r"node\.latency is not stated") as caught:
        stated(fabric.node.latency, fabric, "node.latency")
    assert "weft fabric fit" in caught.value.remedy
    assert "fit" in typed("fabric", "fit", "--help")


@case("cli/exec.py", "weft exec -- mpirun")
@case("launch/interposer.py", "weft exec -- mpirun")
def nothing_to_run(typed: Typed, monkeypatch: pytest.MonkeyPatch) -> None:
    started: list[list[str]] = []
    monkeypatch.setattr("weft.launch.interposer.build_interposer", lambda *_: Path("/libweft.so"))
    monkeypatch.setattr("weft.launch.interposer.replace_process", started.append)
    assert "weft exec -- mpirun -n 4 ./application" in typed.fails("exec")
    assert "weft exec -- mpirun -n 4 ./application" in typed.fails("exec", "--", "no-such-starter")
    mpi = type("Mpi", (), {"described": lambda self: None})()
    monkeypatch.setattr("weft.launch.interposer.mpi_of", lambda *_: mpi)  # whatever mpirun this host has
    typed("exec", "--", "mpirun", "-n", "4", "./application")
    assert started[0][-4:] == ["mpirun", "-n", "4", "./application"]


@case("launch/opensm.py", "weft fabric check FILE")
def ibsim_refuses(typed: Typed, monkeypatch: pytest.MonkeyPatch) -> None:
    from weft.launch import opensm

    gone = type("Gone", (), {"poll": lambda self: 1})()
    Path("log").write_text("ibsim: parse error\n")
    with pytest.raises(LaunchError, match="ibsim cannot simulate") as caught:
        opensm._await_socket(gone, "nowhere", Path("log"))  # pyright: ignore[reportPrivateUsage, reportArgumentType]
    assert caught.value.remedy == "weft fabric check FILE"
    assert "error" not in typed("fabric", "check", fabric_of("small.ibnetdiscover", typed)).partition(":")[0]


ELSEWHERE = {
    (
        "cli/fabric_virtual.py",
        "weft fabric down {}",
    ): "virtual/test_virtual_verbs.py::test_what_is_up_is_not_brought_up_twice",
    (
        "launch/virtual/cluster.py",
        "weft fabric down {}",
    ): "virtual/test_virtual_remedies.py::test_a_busy_fabric_is_freed",
    (
        "launch/virtual/cluster.py",
        "weft fabric up virtual-default",
    ): "virtual/test_virtual_remedies.py::test_nothing_is_up",
    ("launch/virtual/capture.py", "weft fabric exec"): "virtual/test_virtual_remedies.py::test_tcpdump_fails",
    (
        "launch/virtual/counters.py",
        "weft fabric exec --fabric {} {} tc",
    ): "virtual/test_virtual_remedies.py::test_no_counters",
}
"""Errors that need a virtual fabric, and the tests that provoke them on one."""


@lru_cache(maxsize=1)
def entered() -> list[tuple[str, str]]:
    return [*CASES, *ELSEWHERE]


def test_every_error_that_names_a_command_has_a_case() -> None:
    for file, remedy in sorted(collected()):
        assert any(file == at and told in remedy for at, told in entered()), f"{file}: {remedy}"


def test_every_case_is_of_an_error_that_there_is() -> None:
    texts = {(SOURCES / file).read_text() for file, _ in CASES}
    assert texts
    found = collected()
    for file, told in ELSEWHERE:
        assert any(file == at and told in remedy for at, remedy in found), (file, told)
    for name in ELSEWHERE.values():
        path, _, function = name.partition("::")
        assert f"def {function}" in (TESTS / path).read_text(), name


@pytest.mark.parametrize(
    "function", sorted(set(CASES.values()), key=lambda each: each.__name__), ids=lambda f: f.__name__
)
def test_the_command_that_an_error_names_helps(function: Callable[..., None], request: pytest.FixtureRequest) -> None:
    import inspect

    function(**{name: request.getfixturevalue(name) for name in inspect.signature(function).parameters})
