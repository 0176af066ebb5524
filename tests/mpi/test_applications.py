# SPDX-License-Identifier: BSD-3-Clause
"""Applications nobody here wrote or recompiled: the same results to the last printed digit by every algorithm."""

import json
import re
from pathlib import Path

import pytest
from interposed import Site, calls_of, weft_exec

RANKS = 4
SPECS = ("pmpi", "flat.window{w=2}", "flat.pairwise", "bruck{r=2}", "node.multi{nl=2}", "node.direct", "node.bruck",
         "sched.matrix")  # fmt: skip
PSEUDOPOTENTIALS = Path("/usr/share/espresso/pseudo")
# two silicon atoms, one moved a little out of its place: all of the 3-D FFT, no symmetry
SILICON = """\
&control
  calculation = 'scf', prefix = 'si', outdir = './scratch', pseudo_dir = '{pseudo}', disk_io = 'none'
/
&system
  ibrav = 2, celldm(1) = 10.2, nat = 2, ntyp = 1, ecutwfc = 12.0
/
&electrons
  conv_thr = 1.0d-9
/
ATOMIC_SPECIES
  Si 28.086 Si.pz-vbc.UPF
ATOMIC_POSITIONS alat
  Si 0.00 0.00 0.00
  Si 0.25 0.25 0.27
K_POINTS gamma
"""
# what differs from run to run: times, dates
CHANGING = re.compile(r"CPU|WALL|cpu time|starts on|terminated on|Note: The following")


def run(spec: str, program: list[str], folder: Path) -> str:
    """Standard output of an application under one algorithm, which must have run; its ranks are as on two nodes."""
    report = folder / "report.json"
    command = [*Site("openmpi").start(RANKS), *program]
    done = weft_exec(["--force", spec, "--report", str(report)], command, folder, "sizes:3,1")
    assert done.returncode == 0, done.stderr
    calls, name = calls_of(report), spec.partition("{")[0]
    forced = {name, "node.multi"} if name == "sched.matrix" else {name}  # it leaves small even blocks to that
    # the first call on each communicator is the library's
    assert {each for _, each in calls} <= {*forced, "pmpi"}
    assert sum(many for (_, each), many in calls.items() if each in forced) > 0.8 * sum(calls.values()), calls
    return done.stdout


def rounds_file(folder: Path) -> str:
    """Spec of a schedule: each rank to the one s places on, in round s."""
    lines = ["weft-rounds 1", f"ranks {RANKS}"]
    for shift in range(1, RANKS):
        lines += ["round", *(f"{rank} {(rank + shift) % RANKS}" for rank in range(RANKS))]
    path = folder / "rounds.txt"
    path.write_text("\n".join(lines) + "\n")
    return f"sched{{file={path}}}"


def test_quantum_espresso_gives_the_same_energies(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """pw.x is Fortran under Open MPI: some 500 all-to-alls of its FFT, whose rounding would tell any wrong block."""
    if not Path("/usr/bin/pw.x").exists() or not PSEUDOPOTENTIALS.is_dir():
        pytest.skip("no pw.x: apt install quantum-espresso quantum-espresso-data")
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    (tmp_path / "si.in").write_text(SILICON.format(pseudo=PSEUDOPOTENTIALS))
    printed: dict[str, list[str]] = {}
    for spec in (*SPECS, rounds_file(tmp_path)):
        said = run(spec, ["pw.x", "-in", "si.in"], tmp_path)
        printed[spec] = [line for line in said.splitlines() if not CHANGING.search(line)]
        assert sum(calls_of(tmp_path / "report.json").values()) > 300
    plain = printed["pmpi"]
    assert any("!    total energy" in line for line in plain)
    assert all(lines == plain for lines in printed.values())


@pytest.mark.parametrize(
    "specs", [("flat.pairwise", "node.multi{nl=2}", "rounds"), pytest.param((*SPECS, "rounds"), marks=pytest.mark.long)]
)
def test_hpcc_finds_the_same_error_of_its_fft(
    specs: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A C program that checks its own distributed FFT."""
    if not Path("/usr/bin/hpcc").exists():
        pytest.skip("no hpcc: apt install hpcc")
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    example = Path("/usr/share/doc/hpcc/examples/_hpccinf.txt").read_text()
    small = re.sub(r"^1000( +Ns)", r"120\1", example, flags=re.MULTILINE)
    (tmp_path / "hpccinf.txt").write_text(re.sub(r"^80( +NBs)", r"20\1", small, flags=re.MULTILINE))
    found: dict[str, list[str]] = {}
    for spec in dict.fromkeys(("pmpi", *specs)):
        run(rounds_file(tmp_path) if spec == "rounds" else spec, ["hpcc"], tmp_path)
        output = (tmp_path / "hpccoutf.txt").read_text()
        found[spec] = re.findall(r"^(?:MPIFFT_maxErr|MPIFFT_N|PTRANS_residual|Success)=.*", output, re.MULTILINE)
        (tmp_path / "hpccoutf.txt").unlink()
        nodes = {line["nodes"] for line in json.loads((tmp_path / "report.json").read_text())["calls"]}
        assert nodes == {2} or not spec.startswith("node."), spec
    plain = found["pmpi"]
    assert "Success=1" in plain
    assert len(plain) == 4
    assert all(lines == plain for lines in found.values())
