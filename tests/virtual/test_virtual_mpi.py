# SPDX-License-Identifier: BSD-3-Clause
"""Real MPI between virtual hosts: where the ranks are, what they share, and that their bytes cross the links."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from clusters import Installed, alltoall, asked, crossed, two_leaves, variables

from weft.launch.launcher import BLOCK, CYCLIC
from weft.launch.virtual.cluster import Cluster
from weft.launch.virtual.counters import read_counters

pytestmark = [pytest.mark.virtual, pytest.mark.mpi]


@pytest.mark.parametrize("order", [BLOCK, CYCLIC])
def test_ranks_are_placed_as_asked_and_share_memory_only_inside_a_host(
    cluster: Cluster, installed: Installed, order: str, tmp_path: Path
) -> None:
    nodes = ("node2", "node0", "node3")
    answer = alltoall(cluster, installed, asked(tmp_path, nodes, 2, order), 100)
    where = [host for host, _ in answer["where"]]
    wanted = [host for host in nodes for _ in range(2)] if order == BLOCK else list(nodes) * 2
    assert where == wanted
    assert {sharing for _, sharing in answer["where"]} == {2}
    assert answer["errors"] == 0


def test_a_last_host_may_hold_fewer_ranks(cluster: Cluster, installed: Installed, tmp_path: Path) -> None:
    answer = alltoall(cluster, installed, asked(tmp_path, ("node0", "node1"), 2, ranks=3), 100)
    assert [tuple(each) for each in answer["where"]] == [("node0", 2), ("node0", 2), ("node1", 1)]


# MPICH waits busily: many ranks on few cores last for minutes
@pytest.mark.parametrize("installed", ["openmpi5", "openmpi4"], indirect=True)
def test_more_ranks_than_cores_run_on_a_host(cluster: Cluster, installed: Installed, tmp_path: Path) -> None:
    answer = alltoall(cluster, installed, asked(tmp_path, ("node0", "node3"), 4), 100)
    assert [host for host, _ in answer["where"]] == ["node0"] * 4 + ["node3"] * 4


def test_the_bytes_of_an_all_to_all_cross_the_links(cluster: Cluster, installed: Installed, tmp_path: Path) -> None:
    each = 1 if "mpich" in installed.program.name else 2
    size, calls = 400_000, 3
    before = read_counters(cluster)
    alltoall(cluster, installed, asked(tmp_path, cluster.spec.hosts, each), size, calls)
    counted = crossed(before, cluster)
    host_sends = each * 3 * each * size * calls
    leaf_sends = 2 * each * 2 * each * size * calls
    # above it: headers (0.7 %), acknowledgements, and the library's own start, about 0.2 MB a host
    start_up = 300_000
    for host in cluster.spec.hosts:
        link = f"{host}-leaf{int(host[-1]) // 2}"
        for end in (host, link.removeprefix(f"{host}-")):
            assert host_sends < counted[link, end] < 1.04 * host_sends + start_up, (link, end)
    for leaf in ("leaf0", "leaf1"):
        for end in (leaf, "spine"):
            assert leaf_sends < counted[f"{leaf}-spine", end] < 1.04 * leaf_sends + start_up, (leaf, end)


def test_the_interface_counters_agree_with_those_of_the_shapers(
    cluster: Cluster, installed: Installed, tmp_path: Path
) -> None:
    def sent_by_interface() -> int:
        shown = cluster.run("node0", ["ip", "-s", "-j", "link", "show", "eth0"]).stdout
        return json.loads(shown)[0]["stats64"]["tx"]["bytes"]

    before, interface = read_counters(cluster), sent_by_interface()
    alltoall(cluster, installed, asked(tmp_path, cluster.spec.hosts, 1), 500_000, 2)
    shaper = crossed(before, cluster)["node0-leaf0", "node0"]
    # the interface counts a large send once, the shaper the header of each of its frames
    assert sent_by_interface() - interface == pytest.approx(shaper, rel=0.02)


def test_ranks_of_one_host_leave_the_links_alone(cluster: Cluster, installed: Installed, tmp_path: Path) -> None:
    before = read_counters(cluster)
    alltoall(cluster, installed, asked(tmp_path, ("node1",), 2), 1_000_000, 3)
    assert max(crossed(before, cluster).values()) < 100_000


def test_no_all_to_all_is_faster_than_its_narrowest_link(installed: Installed, tmp_path: Path) -> None:
    each = 1 if "mpich" in installed.program.name else 2
    size, uplink = 500_000, 25e6
    with Cluster.start(two_leaves("narrow", uplink=uplink)) as up:
        answer = alltoall(up, installed, asked(tmp_path, up.spec.hosts, each), size, 3)
    bound = 2 * each * 2 * each * size / uplink
    assert bound < answer["seconds"] < 3 * bound


def test_mpi_over_the_links_needs_no_privilege(
    installed: Installed, as_user: list[str], open_folder: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    import shutil

    program = Path(shutil.copy(installed.program, open_folder))
    script = (
        "import json, sys; from pathlib import Path\n"
        "from clusters import Installed, alltoall, asked, crossed, two_leaves\n"
        "from weft.mpi.library import Mpi; from weft.launch.virtual.launcher import starter_for\n"
        "from weft.launch.virtual.cluster import Cluster; from weft.launch.virtual.counters import read_counters\n"
        "mpi = Mpi(Path(sys.argv[1]), 'test'); it = Installed(mpi, starter_for(mpi.described()), Path(sys.argv[2]))\n"
        "with Cluster.start(two_leaves()) as up:\n"
        "    before = read_counters(up)\n"
        "    answer = alltoall(up, it, asked(Path.cwd(), up.spec.hosts, 1), 500000)\n"
        "    print(json.dumps([answer, crossed(before, up)['leaf0-spine', 'leaf0']]))\n"
    )
    done = subprocess.run(
        [*as_user, sys.executable, "-c", script, str(installed.mpi.wrapper), str(program)],
        capture_output=True, text=True, cwd=open_folder, env=variables(open_folder), check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    answer, uplink = json.loads(done.stdout)
    assert [tuple(each) for each in answer["where"]] == [(f"node{k}", 1) for k in range(4)]
    assert 4 * 500_000 < uplink < 4.2 * 500_000 + 300_000
