# SPDX-License-Identifier: BSD-3-Clause
"""``weft check`` and studies on 64 nodes of a real Slurm: as a job, inside salloc, and in the first lines of a job."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from test_slurm import ROOT, STUDY, WHEEL

from made.slow_host import MEMORY, build_slow_host
from weft.analyse.tables.claims import CLAIMS, claims_of, extras
from weft.fabric.nodeset import expand
from weft.launch.slurm_here import why_not

pytestmark = [
    pytest.mark.slurm,
    pytest.mark.long,
    pytest.mark.skipif(bool(why_not()), reason=f"no Slurm: {why_not()}"),
]

WEFT = f"{sys.executable} -m weft"
#: The nodes share this host: what a check finds of their messages depends on who else computes, and may be anything.
VERDICTS = ("0", "1", "3")
#: All nodes together send what one host copies. On its two cores 64 ranks take a minute for a round: other
#: checks have 16.
RATES = "sed 's/1 GB/16 MB/' slurm-here.toml > shared.toml"
JOB = f"""#!/bin/sh
#SBATCH --nodes=16 --time=10 --output=job.out
{WEFT} check --on shared.toml --time 40s --into r-script --exclude-file slow.txt
echo "script $?"
"""
CHECKS = f"""
{RATES}
{WEFT} check --on shared.toml --time 40s --into r-job; echo "job $?"
salloc --nodes=16 --quiet {WEFT} check --on shared.toml --time 40s --into r-salloc; echo "salloc $?"
sbatch --wait --quiet job.sh; cat job.out
"""


def inside(folder: Path, script: str, nodes: int = 64, **more: str) -> str:
    """Run a script inside a Slurm of so many nodes; what it printed."""
    words = [*WEFT.split(), "fabric", "slurm-here", "--nodes", str(nodes), "bash", "-c", script]
    own = {**os.environ, "PYTHONPATH": str(ROOT / "src"), "WEFT_MPICXX": str(WHEEL), **more}
    done = subprocess.run(words, cwd=folder, env=own, capture_output=True, text=True, check=False, timeout=580)
    return done.stdout + done.stderr


def codes_of(said: str, *names: str) -> dict[str, str]:
    """Exit codes that a script has printed behind a name."""
    return dict(line.split() for line in said.splitlines() if line.partition(" ")[0] in names)


def hosts_of(run: Path, ranks: int) -> list[str]:
    """The host of each rank of the first launch of so many ranks."""
    for path in sorted((run / "launches").glob("*.l1.json")):
        found = [rank["host"] for rank in json.loads(path.read_text())["ranks"]]
        if len(found) == ranks:
            return found
    return []


@pytest.mark.timeout(600)
def test_64_nodes_are_checked_as_a_job_inside_salloc_and_in_a_job_script(tmp_path: Path) -> None:
    """Each made-up node is one: they shared a name, and with it their memory."""
    (tmp_path / "job.sh").write_text(JOB)
    said = inside(tmp_path, CHECKS)
    codes = codes_of(said, "job", "salloc", "script")
    assert codes.keys() == {"job", "salloc", "script"}, said
    assert set(codes.values()) <= set(VERDICTS), said
    for name, nodes, jobs in (("r-job", 64, True), ("r-salloc", 16, False), ("r-script", 16, False)):
        run = tmp_path / name
        assert len(set(hosts_of(run, nodes)) & set(expand("n[0-63]"))) == nodes
        assert any(run.glob("job-*.log")) == jobs
        answer = claims_of(CLAIMS.read(run), "answer")[0]
        assert extras(answer)["nodes"] == nodes, said
        assert "host" in {each["subject"] for each in claims_of(CLAIMS.read(run), "doubt")}  # no time is a network's


@pytest.mark.timeout(300)
def test_a_made_up_node_with_slow_memory_is_named(tmp_path: Path) -> None:
    library = build_slow_host(tmp_path, "n5", MEMORY)
    setup = f"echo 'setup = [\"export LD_PRELOAD={library}\"]' >> shared.toml"
    check = f"{WEFT} check --on shared.toml --nodes 'n[0-15]' --into r; echo \"job $?\""
    said = inside(tmp_path, f"{RATES}; {setup}; {check}")
    assert codes_of(said, "job") == {"job": "3"}, said
    answers = claims_of(CLAIMS.read(tmp_path / "r"), "answer")
    assert (answers[0]["subject"], extras(answers[0])["of"]) == ("n5", "memory")


#: What stands for ssh to a made-up node: its commands run here, under its name.
SSH = """#!/bin/sh
[ "$1" = -x ] && shift
name=$1; shift
SLURMD_NODENAME=$name exec sh -c "$*"
"""
CONF = """
Prolog={folder}/prolog.sh
PrologFlags=Alloc
BatchStartTimeout=180
"""
BEFORE_EACH_JOB = """
sed -i 's/^SchedulerParameters=/&nohold_on_prolog_fail,/' $SLURM_CONF
cat conf >> $SLURM_CONF
scontrol reconfigure
cat setup >> shared.toml
env -i sh ./build.sh
sbatch --nodes=6 --requeue --output=job.out job.sh
timeout 280 sh -c 'until grep -q ran job.out; do sleep 1; done' 2>/dev/null
sinfo -N -h -t drain -o 'drained %N'
cat job.out
"""


def documented(marker: str) -> str:
    """The script of the page that has ``marker`` in it."""
    page = (ROOT / "docs" / "slow-node.md").read_text()
    (found,) = [block for block in re.findall(r"```sh\n(.*?)```", page, re.DOTALL) if marker in block]
    return found


@pytest.mark.timeout(600)
def test_a_prolog_drains_a_bad_node_and_the_job_runs_on_others(tmp_path: Path) -> None:
    """By the script of docs/slow-node.md, on each node of a job that is about to start."""
    library = build_slow_host(tmp_path, "n1", MEMORY)
    mpich = ROOT / ".venv-mpich" / "bin" / "mpicxx"
    script = documented("SLURMD_NODENAME")
    for own, here in (("/opt/weft/bin", Path(sys.executable).parent), ("/root", Path.home()), ("/shared", tmp_path),
                      ("/etc/weft.toml", tmp_path / "shared.toml")):  # fmt: skip
        script = script.replace(own, str(here))
    ours = f"export WEFT_MPICXX={mpich} PYTHONPATH={ROOT / 'src'} WEFT_NODE_NAMED_BY=SLURMD_NODENAME\n"
    script = script.replace("#!/bin/sh\n", f"#!/bin/sh\n{ours}")
    build = "".join([*script.splitlines(keepends=True)[:3], "weft check --build --on shared.toml\n"])
    setup = ['unset "${!SLURM@}"', f"export HYDRA_LAUNCHER=ssh HYDRA_LAUNCHER_EXEC={tmp_path}/ssh HYDRA_IFACE=lo",
             f"export FI_PROVIDER=tcp FI_TCP_IFACE=lo LD_PRELOAD={library}"]  # fmt: skip
    (tmp_path / "checks").mkdir()
    (tmp_path / "setup").write_text(f'starter = "mpiexec"\nsetup = {setup!r}\n')
    (tmp_path / "conf").write_text(CONF.format(folder=tmp_path))
    job = "#!/bin/sh\necho ran on $SLURM_JOB_NODELIST\n"
    for name, text in (("ssh", SSH), ("prolog.sh", script), ("job.sh", job), ("build.sh", build)):
        (tmp_path / name).write_text(text)
        (tmp_path / name).chmod(0o755)
    said = inside(tmp_path, RATES + BEFORE_EACH_JOB, nodes=12)
    logs = [path.read_text() for path in sorted((tmp_path / "checks").glob("*/log"))]
    slow = {path.parent.name: path.read_text().split() for path in (tmp_path / "checks").glob("*/slow")}
    assert "drained n1" in said.splitlines(), (said, logs)
    (ran,) = [line.removeprefix("ran on ") for line in said.splitlines() if line.startswith("ran on ")]
    assert len(expand(ran)) == 6
    assert "n1" not in expand(ran)
    named = {name for each in slow.values() for name in each}
    assert not named & set(expand(ran)), (slow, ran)
    assert {line.removeprefix("drained ") for line in said.splitlines() if line.startswith("drained ")} == named
    assert len(logs) >= 2  # once with the slow node, once without


FOLDED = (
    STUDY.replace("nodes = [1, 2, 4]", "nodes = [2, 12]").replace("n = 1600", 'n = "auto"\narray = "64 KiB"')
    .replace('kernel = "exchange"', 'kernel = "exchange"\nexplain = false')
    .replace("[exchange]", '[placement]\nnodes = "n[6-9,56-63]"\n[exchange]')
)  # fmt: skip
SPREAD = FOLDED.replace('"n[6-9,56-63]"', '"n[3,11,19,27,35,43,51,59]"').replace("[2, 12]", "[8]")
DRAINED = FOLDED.replace("launches = 2", "launches = 5")
RUNS = f"""
{WEFT} init slurm -o mine.toml
scontrol show topology > topology
{WEFT} run folded.toml --on mine.toml --into r-folded --no-report; echo "folded $?"
{WEFT} run spread.toml --on mine.toml --into r-spread --no-report; echo "spread $?"
(until ls r-drained/cells/*.json >/dev/null 2>&1; do sleep 0.2; done
 scontrol update nodename=n58 state=drain reason=test; ls r-drained/cells/*.json | wc -l > before) &
{WEFT} run drained.toml --on mine.toml --into r-drained --no-report; echo "drained $?"; wait
timeout 40 {WEFT} run folded.toml --on mine.toml --into r-again --no-report --cancel; echo "again $?"
squeue --noheader
"""


@pytest.mark.timeout(600)
def test_jobs_have_the_nodes_that_were_named_and_go_on_while_one_is_drained(tmp_path: Path) -> None:
    for name, text in (("folded", FOLDED), ("spread", SPREAD), ("drained", DRAINED)):
        (tmp_path / f"{name}.toml").write_text(text)
    said = inside(tmp_path, RUNS)
    assert codes_of(said, "folded", "spread", "drained", "again") == {
        "folded": "0", "spread": "0", "drained": "0", "again": "124"
    }, said  # fmt: skip
    script = (tmp_path / "r-folded/job.slurm.sh").read_text()
    assert "#SBATCH --nodes=12\n#SBATCH --nodelist=n[6-9,56-63]\n" in script
    for name in ("r-folded", "r-drained"):
        assert hosts_of(tmp_path / name, 12) == list(expand("n[6-9,56-63]"))
    leaf = leaf_of((tmp_path / "topology").read_text())
    assert [leaf[name] for name in hosts_of(tmp_path / "r-spread", 8)] == [f"leaf{i}" for i in range(8)]
    assert "\n# 8 leaf switches" in (tmp_path / "mine.toml").read_text()  # a network only with a rate of their links
    assert "--nodelist=n[3,11,19,27,35,43,51,59]\n" in (tmp_path / "r-spread/job.slurm.sh").read_text()
    assert 0 < int((tmp_path / "before").read_text()) < len(statuses(tmp_path / "r-drained"))
    assert set(statuses(tmp_path / "r-drained")) == {"ok"}  # Slurm lets the job end
    assert len(list((tmp_path / "r-drained").glob("job-*.log"))) == 1
    assert "waits: PENDING, ReqNodeNotAvail" in said  # of the next job, which names the drained node


def statuses(run: Path) -> list[str]:
    """The status of each cell of a run in each launch."""
    return [json.loads(path.read_text())["status"] for path in (run / "cells").glob("*.json")]


def leaf_of(topology: str) -> dict[str, str]:
    """Each node's leaf, of ``scontrol show topology``."""
    found: dict[str, str] = {}
    for line in topology.splitlines():
        words = dict(word.split("=", 1) for word in line.split() if "=" in word)
        if words.get("Level") == "0":
            found |= dict.fromkeys(expand(words["Nodes"]), words["SwitchName"])
    return found
