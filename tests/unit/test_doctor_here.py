# SPDX-License-Identifier: BSD-3-Clause
"""What doctor sees on made machines, and what it says about them."""

import json
import os
import resource
from pathlib import Path

import pytest

from weft.cli.app import main
from weft.doctor import here as doctor
from weft.doctor.here import examine, healthy
from weft.doctor.probe import Probe, Root
from weft.doctor.ready import ready
from weft.errors import LaunchError
from weft.mpi.starting import Cores


def machine(tmp_path: Path, **files: str) -> Root:
    """A tree with the files named (``__`` for ``/``)."""
    for name, text in files.items():
        path = tmp_path / name.replace("__", "/")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return Root(tmp_path)


def test_every_probe_that_is_not_fine_says_what_for_and_what_to_do() -> None:
    probes = examine()
    names = [probe.name for probe in probes]
    assert len(set(names)) == len(names)
    for probe in probes:
        if probe.verdict != "ok":
            assert probe.needed_for, probe
            assert probe.remedy, probe
        else:
            assert probe.found, probe


def test_a_machine_without_mpi_cannot_measure(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def none() -> None:
        raise LaunchError("no MPI: there is no mpicxx on PATH", "apt install libopenmpi-dev")

    monkeypatch.setattr(doctor, "find_mpi", none)
    probe = doctor.mpi(Root(tmp_path))
    assert (probe.verdict, probe.remedy) == ("missing", "apt install libopenmpi-dev")
    assert not healthy([probe])


def test_a_missing_extra_does_not_make_a_machine_ill() -> None:
    assert healthy([Probe("SimGrid", "", "missing", "fabrics of kind simulated", "apt install libsimgrid-dev")])


def test_missing_programs_are_named_with_their_package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(doctor, "ADMINISTRATORS", "")
    debian = machine(tmp_path, etc__debian_version="12.5")
    probe = doctor.programs(debian, "Slurm", ("sbatch", "srun"), "fabrics of kind slurm", "slurm-client")
    assert probe.verdict == "missing"
    assert "no sbatch, srun" in probe.needed_for
    assert probe.remedy.endswith("apt install slurm-client")
    assert ("sudo" in probe.remedy) == (os.geteuid() != 0)
    other = doctor.programs(Root(tmp_path / "other"), "Slurm", ("sbatch",), "x", "slurm-client")
    assert "what Debian calls slurm-client" in other.remedy


def test_programs_outside_of_a_users_path_are_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tool = tmp_path / "sbin/tc"
    tool.parent.mkdir()
    tool.write_text("")
    tool.chmod(0o755)
    monkeypatch.setenv("PATH", "/nothing")
    monkeypatch.setattr(doctor, "ADMINISTRATORS", str(tool.parent))
    assert doctor.programs(Root(), "x", ("tc",), "", "").found == str(tool)


def test_virtual_fabrics_are_tried_and_not_guessed_from_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor, "forbidden", lambda: "")
    for words, how in ((["unshare", "--user"], "in a user namespace"), (["unshare"], "as root")):
        monkeypatch.setattr(doctor, "unshare_command", lambda words=words: words)
        probe = doctor.virtual_fabrics(Root())
        assert (probe.verdict, probe.found) == ("ok", f"allowed {how} (tried just now)")


def test_why_there_are_no_virtual_fabrics_is_told_with_its_remedy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor, "forbidden", lambda: "unshare failed:\nOperation not permitted (x = 1)")
    monkeypatch.setattr(doctor, "remedy", lambda: "sudo sysctl -w x=0, or run as root")
    probe = doctor.virtual_fabrics(Root())
    assert probe.verdict == "missing"
    assert probe.needed_for == "fabrics of kind virtual: unshare failed: Operation not permitted (x = 1)"
    assert probe.remedy == "sudo sysctl -w x=0, or run as root"
    assert healthy([probe])


@pytest.mark.parametrize(("name", "verdict"), [("powersave\n", "warn"), ("performance\n", "ok")])
def test_a_governor_that_changes_frequencies_is_a_warning(tmp_path: Path, name: str, verdict: str) -> None:
    root = machine(tmp_path, sys__devices__system__cpu__cpu0__cpufreq__scaling_governor=name)
    assert doctor.governor(root).verdict == verdict


def test_little_locked_memory_hurts_only_where_an_adapter_wants_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(resource, "getrlimit", lambda which: (65536, 65536))
    assert doctor.locked_memory(Root(tmp_path)).verdict == "ok"
    (tmp_path / "sys/class/infiniband").mkdir(parents=True)
    probe = doctor.locked_memory(Root(tmp_path))
    assert probe.verdict == "warn"
    assert "64 KiB" in probe.found
    monkeypatch.setattr(resource, "getrlimit", lambda which: (resource.RLIM_INFINITY,) * 2)
    assert doctor.locked_memory(Root(tmp_path)).verdict == "ok"


def test_swap_is_a_warning(tmp_path: Path) -> None:
    head = "Filename Type Size Used Priority\n"
    assert doctor.memory(machine(tmp_path, proc__swaps=head)).verdict == "ok"
    assert doctor.memory(machine(tmp_path, proc__swaps=head + "/swap file 1 0 -2\n")).verdict == "warn"


def test_a_missing_shared_memory_folder_is_told(tmp_path: Path) -> None:
    assert doctor.shared_memory(Root(tmp_path)).verdict == "missing"


def test_a_small_shared_memory_folder_is_a_warning(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "dev/shm").mkdir(parents=True)
    monkeypatch.setattr("shutil.disk_usage", lambda path: type("U", (), {"total": 64 << 20, "free": 60 << 20})())
    probe = doctor.shared_memory(Root(tmp_path))
    assert probe.verdict == "warn"
    assert "64 MiB" in probe.found


def test_a_busy_machine_is_a_warning(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor, "cores_here", lambda: Cores(4, 4))
    assert doctor.load(machine(tmp_path, proc__loadavg="1.90 1 1 2/3 4")).verdict == "ok"
    assert doctor.load(machine(tmp_path, proc__loadavg="2.10 1 1 2/3 4")).verdict == "warn"


def test_a_restricted_mask_is_a_warning(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor, "cores_here", lambda: Cores(2, 4, restricted=True))
    probe = doctor.cores(Root())
    assert probe.verdict == "warn"
    assert "2, 4 hardware threads" in probe.found


def test_the_verb_prints_a_line_for_each_probe(capsys: pytest.CaptureFixture[str]) -> None:
    code = main(["doctor"])
    *lines, last = capsys.readouterr().out.splitlines()
    assert last == ready(examine())
    lines = [line for line in lines if not line.startswith("For those")]
    assert sum(line.split()[0] in ("ok", "warn", "missing") for line in lines) == len(examine())
    assert code in (0, 1)


def test_the_verb_prints_json_for_programs(capsys: pytest.CaptureFixture[str]) -> None:
    main(["doctor", "--format", "json"])
    probes = json.loads(capsys.readouterr().out)
    keys = {"name", "found", "verdict", "needed_for", "remedy", "needed", "serves", "lacks", "developers"}
    assert keys == set(probes[0])
    assert {probe["verdict"] for probe in probes} <= {"ok", "warn", "missing"}
