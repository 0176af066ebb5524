# SPDX-License-Identifier: BSD-3-Clause
"""Hosts of a virtual cluster are hosts: names, memory, addresses and links of their own."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from clusters import send, two_leaves, variables

from weft.errors import LaunchError
from weft.launch.virtual.cluster import Cluster
from weft.launch.virtual.counters import counters_now, read_counters
from weft.launch.virtual.wiring import ports

pytestmark = pytest.mark.virtual


def test_each_host_has_its_own_name_and_knows_the_others(cluster: Cluster) -> None:
    for host in cluster.spec.hosts:
        assert cluster.run(host, ["hostname"]).stdout.strip() == host
    known = cluster.run("node1", ["cat", "/etc/hosts"]).stdout
    assert "10.77.0.4 node3" in known


def test_shared_memory_of_one_host_is_not_seen_on_another(cluster: Cluster) -> None:
    assert cluster.run("node0", ["touch", "/dev/shm/segment"]).returncode == 0
    assert cluster.run("node0", ["ls", "/dev/shm"]).stdout == "segment\n"
    assert cluster.run("node1", ["ls", "/dev/shm"]).stdout == ""
    assert not Path("/dev/shm/segment").exists()


def test_hosts_differ_in_every_namespace_but_share_users_and_processes(cluster: Cluster) -> None:
    def namespaces(host: str) -> dict[str, str]:
        kinds = ("net", "uts", "ipc", "mnt", "user", "pid")
        shown = cluster.run(host, ["readlink", *(f"/proc/self/ns/{kind}" for kind in kinds)]).stdout.split()
        return dict(zip(kinds, shown, strict=True))

    first, second = namespaces("node0"), namespaces("node1")
    assert {kind for kind in first if first[kind] != second[kind]} == {"net", "uts", "ipc", "mnt"}


def test_the_name_of_this_machine_stays(cluster: Cluster) -> None:
    assert subprocess.run(["hostname"], capture_output=True, text=True, check=True).stdout.strip() != "node0"


def test_bytes_are_counted_on_exactly_the_links_of_the_route(cluster: Cluster) -> None:
    before = {(count.link, count.source): count.bytes for count in read_counters(cluster)}
    volume = 2_000_000
    assert send(cluster, "node0", "node3", volume) == volume
    crossed = {
        (count.link, count.source): count.bytes - before[count.link, count.source] for count in read_counters(cluster)
    }
    route = [("node0-leaf0", "node0"), ("leaf0-spine", "leaf0"), ("leaf1-spine", "spine"), ("node3-leaf1", "leaf1")]
    for step in route:
        assert volume < crossed.pop(step) < 1.03 * volume, step
    # the rest: acknowledgements on the way back, and the question who node3 is, which a switch asks everywhere
    assert max(crossed.values()) < 0.03 * volume, crossed


def test_a_link_carries_its_rate_and_no_more() -> None:
    import time

    rate, volume = 4e6, 4_000_000
    with Cluster.start(two_leaves("slow", host=62.5e6, uplink=rate)) as up:
        start = time.monotonic()
        assert send(up, "node0", "node2", volume) == volume
        seconds = time.monotonic() - start
    # the bucket and the start of the programs lie on either side of it
    assert 0.95 * volume / rate < seconds < 1.5 * volume / rate + 1


def test_a_queue_that_is_full_drops_and_the_drops_are_counted() -> None:
    flood = (
        "import socket as s, time; u=s.socket(s.AF_INET, s.SOCK_DGRAM)\n"
        "for _ in range(4000): u.sendto(bytes(1000), ('10.77.0.3', 9))\n"
    )
    with Cluster.start(two_leaves("drops", uplink=1e5)) as up:
        assert up.run("node0", [sys.executable, "-c", flood]).returncode == 0
        drops = {(count.link, count.source): count.drops for count in read_counters(up)}
    assert drops["leaf0-spine", "leaf0"] > 1000
    assert drops["leaf0-spine", "spine"] == 0


def test_counters_are_read_where_path_has_no_sbin_as_for_a_user_of_debian(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", "/usr/bin:/bin")
    assert {count.link for count in read_counters(cluster)} == {port.link for port in ports(cluster.spec)}


def test_an_unknown_host_is_named_with_those_there_are(cluster: Cluster) -> None:
    with pytest.raises(LaunchError, match=r"no node 'node9'.*\n.*node0, node1, node2, node3"):
        cluster.command("node9", ["true"])


def test_a_command_runs_where_it_is_typed(cluster: Cluster, tmp_path: Path) -> None:
    done = subprocess.run(cluster.command("node2", ["pwd"], tmp_path), capture_output=True, text=True, check=True)
    assert done.stdout.strip() == str(tmp_path)


def test_two_clusters_of_one_name_do_not_meet() -> None:
    with Cluster.start(two_leaves()) as one, Cluster.start(two_leaves()) as other:
        assert one.holder != other.holder
        send(one, "node0", "node1", 100_000)
        assert max(count.bytes for count in read_counters(other)) < 10_000


def test_a_cluster_needs_no_privilege(as_user: list[str], open_folder: Path) -> None:
    script = (
        "import json; from clusters import send, two_leaves\n"
        "from weft.launch.virtual.cluster import Cluster; from weft.launch.virtual.counters import read_counters\n"
        "with Cluster.start(two_leaves()) as up:\n"
        "    arrived = send(up, 'node0', 'node3', 500000)\n"
        "    print(json.dumps([arrived, max(count.bytes for count in read_counters(up))]))\n"
    )
    done = subprocess.run(
        [*as_user, sys.executable, "-c", script],
        capture_output=True, text=True, cwd=open_folder, env=variables(open_folder), check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    arrived, counted = json.loads(done.stdout)
    assert arrived == 500_000
    assert 500_000 < counted < 520_000


def test_where_namespaces_are_forbidden_one_message_says_so_and_what_to_do(open_folder: Path) -> None:
    # a user namespace in which no further one may be made, entered without any capability
    script = (
        "from clusters import two_leaves\n"
        "from weft.errors import WeftError\n"
        "from weft.launch.virtual.cluster import Cluster\n"
        "try: Cluster.start(two_leaves())\n"
        "except WeftError as error: print(error)\n"
    )
    drop = "setpriv --bounding-set -all --inh-caps -all"
    inner = f'echo 0 >/proc/sys/user/max_user_namespaces && exec {drop} "$0" -c "$1"'
    done = subprocess.run(
        ["unshare", "--user", "--map-root-user", "sh", "-c", inner, sys.executable, script],
        capture_output=True, text=True, cwd=open_folder, env=variables(open_folder), check=False,
    )  # fmt: skip
    if "unshare" in done.stderr:
        pytest.skip(f"cannot make the namespace that forbids: {done.stderr.strip()}")
    assert done.returncode == 0, done.stderr
    assert "no virtual cluster can be brought up here" in done.stdout
    assert "user.max_user_namespaces = 0" in done.stdout
    assert "-> sudo sysctl -w user.max_user_namespaces=" in done.stdout


def test_a_holder_that_fails_says_which_command_failed() -> None:
    from dataclasses import replace

    spec = two_leaves()
    spec = replace(spec, links=(*spec.links[:-1], replace(spec.links[-1], rate=1e300)))
    with pytest.raises(LaunchError, match="cannot bring up two-leaves: tc"):
        Cluster.start(spec)


def test_bytes_read_from_one_file_are_those_of_the_shapers_but_for_headers(cluster: Cluster) -> None:
    def both() -> list[dict[tuple[str, str], int]]:
        cheap, exact = counters_now(cluster.spec, cluster.counter_files()), read_counters(cluster)
        return [{(count.link, count.source): count.bytes for count in counts} for counts in (cheap, exact)]

    before = both()
    send(cluster, "node0", "node2", 2_000_000)
    after = both()
    for key in before[1]:
        cheap, exact = (now[key] - then[key] for then, now in zip(before, after, strict=True))
        assert abs(cheap - exact) < 20_000 + 0.05 * exact
