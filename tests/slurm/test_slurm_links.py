# SPDX-License-Identifier: BSD-3-Clause
"""A study in a Slurm job whose nodes are virtual hosts: the ranks' bytes cross the uplinks, and no bound is beaten."""

import json
import os
import shutil
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from over_links import SlurmOverLinks

from made.view import load_view
from weft.launch.slurm_here import why_not
from weft.launch.virtual.cluster import Cluster
from weft.launch.virtual.counters import read_counters
from weft.launch.virtual.permission import CAP_SYS_ADMIN, effective_capabilities, forbidden, has_capability
from weft.launch.virtual.spec import VirtualLink, VirtualSpec
from weft.store.links import passed

ROOT = Path(__file__).resolve().parents[2]
WHEEL = ROOT / ".venv" / "bin" / "mpicxx"
UPLINK = 31.25e6


def why_no_links() -> str:
    """The reason why no Slurm can be had over virtual links, or an empty string."""
    if reason := why_not() or forbidden():
        return reason
    # slurmd drops its groups, which only plain namespaces of real root allow
    plain = os.geteuid() == 0 and has_capability(effective_capabilities(), CAP_SYS_ADMIN)
    return "" if plain else "slurmd needs namespaces of real root (CAP_SYS_ADMIN)"


pytestmark = [
    pytest.mark.slurm,
    pytest.mark.virtual,
    pytest.mark.timeout(600),
    pytest.mark.skipif(bool(why_no_links()), reason=f"no Slurm over virtual links: {why_no_links()}"),
]

# at N = 4 each leaf sends 2.46 MB of 9.8 MB over its uplink in every call C
STUDY = """\
name = "small"
kernel = "exchange"
[measure]
launches = 1
min_samples = 5
max_samples = 10
warmup_most = 5
budget = "500 ms"
limit = "50 s"
seed = 7
[exchange]
data = "contention"
calls = ["A", "C"]
[[series]]
name = "strong"
scaling = "strong"
nodes = [2, 4]
ranks_per_node = 1
n = 19200
m = 64
"""

FABRIC = """\
name = "over-links"
kind = "slurm"
[node]
names = "node[0-3]"
cores = 4
memory = "3 GiB"
[network]
topology = "fat-tree"
latency = "10 us"
adapter_rate = "62.5 MB/s"
[network.tree]
nodes_per_leaf = 2
uplinks = 1
link_rate = "31.25 MB/s"
[batch]
partition = "batch"
mpi = "pmix"
poll = "200 ms"
time_limit = "10 min"
setup = ["export SLURM_PMIX_FENCE=ring OMPI_MCA_pml=ob1 OMPI_MCA_btl=self,sm,tcp OMPI_MCA_btl_tcp_if_include=eth0"]
"""


@pytest.fixture(scope="module")
def slurm() -> Iterator[SlurmOverLinks]:
    """One Slurm on two leaves of two hosts, in a folder whose path is short enough for sockets."""
    hosts = tuple(f"node{k}" for k in range(4))
    links = [VirtualLink(f"{host}-leaf{k // 2}", host, f"leaf{k // 2}", 62.5e6) for k, host in enumerate(hosts)]
    links += [VirtualLink(f"leaf{k}-spine", f"leaf{k}", "spine", UPLINK) for k in range(2)]
    spec = VirtualSpec("slurm-links", hosts, ("leaf0", "leaf1", "spine"), tuple(links))
    folder = Path(tempfile.mkdtemp(prefix="wslurm"))
    try:
        with Cluster.start(spec) as cluster, SlurmOverLinks(cluster, folder) as running:
            yield running
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def test_a_study_in_a_job_crosses_the_links_and_beats_no_bound(slurm: SlurmOverLinks, tmp_path: Path) -> None:
    (tmp_path / "small.toml").write_text(STUDY)
    (tmp_path / "links.toml").write_text(FABRIC)
    before = read_counters(slurm.cluster)
    place = ["env", f"--chdir={tmp_path}", f"PYTHONPATH={ROOT / 'src'}", f"WEFT_MPICXX={WHEEL}"]
    done = slurm.run(*place, sys.executable, "-m", "weft", "run", "small.toml", "--on", "links.toml", "--into", "run")
    assert done.returncode == 0, done.stdout + done.stderr
    plan = json.loads((tmp_path / "run/plan.json").read_text())
    (cell,) = (each for each in plan["cells"] if each["nodes"] == 4 and each["kernel"] == "exchange")
    record = json.loads((tmp_path / f"run/cells/{cell['id']}.l1.json").read_text())
    assert record["status"] == "ok"
    calls = sum(each["warmup"] + each["count"] * each["batch"] for each in record["segments"] if each["op"] == "C")
    leaf_sends = 19200 * 64 * 8 / 4
    moved = {(count.link, count.source): count.bytes for count in passed(before, read_counters(slurm.cluster))}
    assert calls * leaf_sends < moved["leaf0-spine", "leaf0"]
    told = load_view(tmp_path / "run").rows
    warm = next(row for row in told if (row["cell"], row["call"], row["phase"]) == (cell["id"], "C", "warm"))
    assert warm["bound"] == "link leaf0 up"
    assert warm["min_s"] > leaf_sends / UPLINK


def test_the_jobs_ranks_sit_on_hosts_of_their_own(slurm: SlurmOverLinks, tmp_path: Path) -> None:
    done = slurm.run("srun", "--nodes=4", "--ntasks=4", "--mpi=none", "hostname")
    assert sorted(done.stdout.split()) == list(slurm.cluster.spec.hosts), done.stderr
