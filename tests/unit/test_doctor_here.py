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
from weft.doctor.probe import Probe, ready, two_ranks
from weft.errors import LaunchError
from weft.mpi.library import parse_library
from weft.mpi.starting import Cores


def machine(tmp_path: Path, **files: str) -> Path:
    """A tree with the files named (``__`` for ``/``)."""
    for name, text in files.items():
        path = tmp_path / name.replace("__", "/")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return tmp_path


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
    probe = doctor.mpi()
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
    other = doctor.programs(tmp_path / "other", "Slurm", ("sbatch",), "x", "slurm-client")
    assert "what Debian calls slurm-client" in other.remedy


def test_programs_outside_of_a_users_path_are_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tool = tmp_path / "sbin/tc"
    tool.parent.mkdir()
    tool.write_text("#!/bin/sh\n")
    tool.chmod(0o755)
    monkeypatch.setenv("PATH", "/nothing")
    monkeypatch.setattr(doctor, "ADMINISTRATORS", str(tool.parent))
    assert doctor.programs(Path("/"), "x", ("tc",), "", "").found == f"{tool} (tried just now)"


SLURM = dict.fromkeys(("sbatch", "srun", "squeue", "scancel", "sinfo", "scontrol", "sacct", "salloc"), "exit 0")


def stubs(folder: Path, monkeypatch: pytest.MonkeyPatch, **scripts: str) -> None:
    """A PATH of these scripts, each a line of shell, and of nothing else."""
    folder.mkdir(exist_ok=True)
    for name, line in scripts.items():
        (folder / name).write_text(f"#!/bin/sh\n{line}\n")
        (folder / name).chmod(0o755)
    monkeypatch.setenv("PATH", str(folder))
    monkeypatch.setattr(doctor, "ADMINISTRATORS", "")


def probe_of(name: str) -> Probe:
    return doctor.programs(Path("/"), *next(each for each in doctor.PROGRAMS if each[0] == name))


@pytest.mark.parametrize(
    ("name", "scripts", "why"),
    [
        ("SimGrid", {"smpicxx": "exit 0", "smpirun": "echo cannot open libsimgrid.so >&2; exit 127"}, "libsimgrid"),
        ("SimGrid", {"smpicxx": 'test "$1" = --version', "smpirun": "exit 0"}, "two simulated ranks"),
        ("Slurm", {**SLURM, "squeue": "echo no controller >&2; exit 1"}, "no controller"),
        ("packet capture", {"tcpdump": "kill -9 $$"}, "exit code -9"),
        ("a Slurm of our own", {"slurmctld": "exit 0", "slurmd": "exit 0", "munged": "exit 3"}, "munged: exit code 3"),
    ],
)  # fmt: skip
def test_what_is_on_path_and_fails_is_not_ready(
    name: str, scripts: dict[str, str], why: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`weft fabric slurm-here` ended in "can not load PMIx library" where doctor said "ready: slurm"."""
    stubs(tmp_path / "bin", monkeypatch, **scripts)
    probe = probe_of(name)
    assert probe.verdict == "missing" and why in probe.needed_for and probe.remedy
    last = ready([probe])
    ready_for = last.removeprefix("ready: ").partition(";")[0].split(", ")
    kind = {"SimGrid": "simulated", "Slurm": "slurm"}.get(name)
    assert kind not in ready_for
    assert kind is None or f"missing for {kind}: " in last


def test_a_slurm_whose_controller_answers_is_still_not_ready_without_a_job(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stubs(tmp_path / "bin", monkeypatch, **SLURM)
    assert probe_of("Slurm").verdict == "ok"
    last = ready([probe_of("Slurm")])
    assert "not tried: slurm" in last and "slurm" not in last.partition(";")[0]


def test_a_program_that_only_knows_its_usage_has_started(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    usage = {"opensm": "exit 0", "ibsim": "echo 'Usage: ibsim file' >&2; exit 255"}
    stubs(tmp_path / "bin", monkeypatch, **usage)
    assert probe_of("OpenSM, ibsim").verdict == "ok"


def test_ranks_that_do_not_meet_make_a_machine_ill(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    wrapper = 'case "$1" in --show*|-show*) echo g++ -lmpi;; *) while test $# -gt 1; do shift; done; : > "$1";; esac'
    mpiexec = 'case "$*" in *ranks) echo no route to the daemon >&2; exit 1;; *) echo "mpiexec (OpenRTE) 4.1.4";; esac'
    stubs(tmp_path / "bin", monkeypatch, mpicxx=wrapper, mpiexec=mpiexec)
    monkeypatch.setattr("weft.mpi.library.Mpi.described", lambda _: parse_library("Open MPI v4.1.4"))
    probe = two_ranks(Path("/"))
    assert (probe.verdict, "no route to the daemon" in probe.needed_for) == ("missing", True), probe
    assert not healthy([probe])


def test_virtual_fabrics_are_tried_and_not_guessed_from_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor, "forbidden", lambda: "")
    for words, how in ((["unshare", "--user"], "in a user namespace"), (["unshare"], "as root")):
        monkeypatch.setattr(doctor, "unshare_command", lambda words=words: words)
        probe = doctor.virtual_fabrics()
        assert (probe.verdict, probe.found) == ("ok", f"allowed {how} (tried just now)")


def test_why_there_are_no_virtual_fabrics_is_told_with_its_remedy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor, "forbidden", lambda: "unshare failed:\nOperation not permitted (x = 1)")
    monkeypatch.setattr(doctor, "remedy", lambda: "sudo sysctl -w x=0, or run as root")
    probe = doctor.virtual_fabrics()
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
    assert doctor.locked_memory(tmp_path).verdict == "ok"
    (tmp_path / "sys/class/infiniband").mkdir(parents=True)
    probe = doctor.locked_memory(tmp_path)
    assert probe.verdict == "warn"
    assert "64 KiB" in probe.found
    monkeypatch.setattr(resource, "getrlimit", lambda which: (resource.RLIM_INFINITY,) * 2)
    assert doctor.locked_memory(tmp_path).verdict == "ok"


def test_swap_is_a_warning(tmp_path: Path) -> None:
    head = "Filename Type Size Used Priority\n"
    assert doctor.memory(machine(tmp_path, proc__swaps=head)).verdict == "ok"
    assert doctor.memory(machine(tmp_path, proc__swaps=head + "/swap file 1 0 -2\n")).verdict == "warn"


def test_a_missing_shared_memory_folder_is_told(tmp_path: Path) -> None:
    assert doctor.shared_memory(tmp_path).verdict == "missing"


def test_a_small_shared_memory_folder_is_a_warning(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "dev/shm").mkdir(parents=True)
    monkeypatch.setattr("shutil.disk_usage", lambda path: type("U", (), {"total": 64 << 20, "free": 60 << 20})())
    probe = doctor.shared_memory(tmp_path)
    assert probe.verdict == "warn"
    assert "64 MiB" in probe.found


def test_a_busy_machine_is_a_warning(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor, "cores_here", lambda: Cores(4, 4))
    assert doctor.load(machine(tmp_path, proc__loadavg="1.90 1 1 2/3 4")).verdict == "ok"
    assert doctor.load(machine(tmp_path, proc__loadavg="2.10 1 1 2/3 4")).verdict == "warn"


def test_a_restricted_mask_is_a_warning(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor, "cores_here", lambda: Cores(2, 4, restricted=True))
    probe = doctor.cores()
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
