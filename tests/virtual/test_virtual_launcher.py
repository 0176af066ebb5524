# SPDX-License-Identifier: BSD-3-Clause
"""The launcher of kind virtual: launches one after the other, counters beside each, nothing left of any."""

import json
import shlex
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from clusters import Installed, alive, gone, request, two_leaves, variables, wait_for

from weft.errors import LaunchError
from weft.launch.build import PROGRAM, Kernels
from weft.launch.virtual.cluster import Cluster, inhabitants
from weft.launch.virtual.launcher import VirtualLauncher, cluster_for
from weft.store.links import links_file, read_links

pytestmark = [
    pytest.mark.virtual,
    pytest.mark.mpi,
    # what a launcher does around the ranks is the same for each library
    pytest.mark.parametrize("installed", ["openmpi5"], indirect=True),
]


@pytest.fixture
def kernels(installed: Installed, tmp_path: Path) -> Kernels:
    """Kernels whose program runs the words of the plan file, rank by rank: the known volume, or something worse."""
    folder = tmp_path / "kernels"
    folder.mkdir()
    (folder / PROGRAM).write_text(f'#!/bin/sh\nALLTOALL={shlex.quote(str(installed.program))}\n. "$1"\n')
    (folder / PROGRAM).chmod(0o755)
    library = installed.mpi.described()
    assert library is not None
    return Kernels(folder, installed.mpi, library)


def test_each_launch_has_its_counters_beside_it(kernels: Kernels, tmp_path: Path) -> None:
    launcher = VirtualLauncher(two_leaves(), kernels)
    requests = [request(tmp_path, k, f"exec $ALLTOALL {size} 1") for k, size in enumerate((1000, 1_000_000))]
    outcomes = list(launcher.run(requests))
    assert [(outcome.id, outcome.returncode, outcome.timed_out) for outcome in outcomes] == [
        ("c000.l1", 0, False), ("c001.l1", 0, False),
    ]  # fmt: skip
    small, large = (
        {(count.link, count.source): count for count in read_links(links_file(tmp_path, outcome.id))}
        for outcome in outcomes
    )
    assert len(small) == len(large) == 12
    uplink = ("leaf0-spine", "leaf0")
    assert small[uplink].bytes < 400_000
    assert 4_000_000 < large[uplink].bytes < 4_500_000
    assert large[uplink].rate == 62.5e6
    assert large[uplink].packets > large[uplink].bytes / 9014
    record = json.loads(links_file(tmp_path, "c001.l1").read_text())
    assert (record["schema"], record["launch"], record["method"]) == ("weft-links/1", "c001.l1", "tbf")


def test_a_launch_that_fails_does_not_disturb_the_next(kernels: Kernels, tmp_path: Path) -> None:
    launcher = VirtualLauncher(two_leaves(), kernels)
    plans = ("exit 3", "kill -SEGV $$", "exec $ALLTOALL 1000 1")
    codes = [outcome.returncode for outcome in launcher.run([request(tmp_path, k, p) for k, p in enumerate(plans)])]
    assert codes[0] == 3
    assert codes[1] != 0
    assert codes[2] == 0


def test_a_launch_that_hangs_is_ended_at_its_limit(kernels: Kernels, tmp_path: Path) -> None:
    launcher = VirtualLauncher(two_leaves(), kernels)
    hang = "setsid sleep 1000 & touch /dev/shm/segment; sleep 1000"
    hanging, following = launcher.run(
        [request(tmp_path, 0, hang, limit_s=3.0), request(tmp_path, 1, "ls /dev/shm; exec $ALLTOALL 1000 1")]
    )
    assert hanging.timed_out
    assert hanging.returncode != 0
    assert hanging.wall_s < 15
    assert following.returncode == 0
    assert "segment" not in following.log.read_text()


def test_a_request_for_a_host_that_is_not_there_is_refused(kernels: Kernels, tmp_path: Path) -> None:
    from dataclasses import replace

    launcher = VirtualLauncher(two_leaves(), kernels)
    with pytest.raises(LaunchError, match="no node 'node7'"):
        list(launcher.run([replace(request(tmp_path, 0, "true"), nodes=("node7",))]))


def test_closing_the_iterator_takes_the_cluster_down(kernels: Kernels, tmp_path: Path) -> None:
    said: list[str] = []
    walk = VirtualLauncher(two_leaves(), kernels, said.append).run(
        [request(tmp_path, k, "exec $ALLTOALL 100 1") for k in range(2)]
    )
    before = children()
    next(walk)
    assert len(children()) > len(before)
    walk.close()
    assert children() == before
    assert said == []


def children() -> set[str]:
    """Processes that this one started."""
    return set(Path(f"/proc/self/task/{Path('/proc/thread-self').readlink().name}/children").read_text().split())


@pytest.mark.parametrize("end", ["SIGKILL", "SIGINT"])
def test_nothing_is_left_when_weft_ends_in_the_middle_of_a_launch(end: str, kernels: Kernels, tmp_path: Path) -> None:
    script = (
        "import sys; from pathlib import Path; from clusters import request, two_leaves\n"
        "from weft.launch.build import Kernels; from weft.mpi.library import Mpi\n"
        "from weft.launch.virtual.launcher import VirtualLauncher\n"
        "mpi = Mpi(Path(sys.argv[1]), 'test'); it = Kernels(Path(sys.argv[2]), mpi, mpi.described())\n"
        "list(VirtualLauncher(two_leaves(), it).run([request(Path.cwd(), 0, 'touch there.$PPID; sleep 1000')]))\n"
    )
    weft = subprocess.Popen(
        [sys.executable, "-c", script, str(kernels.mpi.wrapper), str(kernels.folder)],
        cwd=tmp_path, env=variables(tmp_path), stderr=subprocess.DEVNULL,
    )  # fmt: skip
    wait_for(lambda: list(tmp_path.glob("there.*")))
    holder = next(
        int(pid)
        for unshare in Path(f"/proc/{weft.pid}/task/{weft.pid}/children").read_text().split()
        for pid in Path(f"/proc/{unshare}/task/{unshare}/children").read_text().split()
        if b"holder.py" in Path(f"/proc/{pid}/cmdline").read_bytes()
    )
    wait_for(lambda: len(inhabitants(holder)) >= 8)
    ranks = inhabitants(holder)
    weft.send_signal(getattr(signal, end))
    weft.wait(30)
    assert gone([holder, *ranks])
    # the keeper outside lets go of the folder, and takes its session directory with it
    wait_for(lambda: not (tmp_path / "launches" / "lock").read_text().strip())


def test_a_run_takes_the_standing_cluster_where_it_is_the_same_and_leaves_it_up(
    kernels: Kernels, tmp_path: Path
) -> None:
    spec = two_leaves("standing-launcher")
    said: list[str] = []
    with Cluster.start(spec, standing=True) as up:
        outcomes = list(VirtualLauncher(spec, kernels, said.append).run([request(tmp_path, 0, "$ALLTOALL 1000 1")]))
        assert outcomes[0].returncode == 0
        assert said == ["running over the virtual fabric standing-launcher that is up"]
        assert alive(up.holder)
        with cluster_for(two_leaves("standing-launcher", uplink=1e6), said.append) as own:
            assert own.holder != up.holder
        assert "other links than its file has now" in said[-1]


def test_a_capture_holds_the_packets_of_a_launch(kernels: Kernels, tmp_path: Path) -> None:
    import shutil

    if shutil.which("tcpdump", path="/usr/bin:/usr/sbin:/sbin:/bin") is None:
        pytest.skip("tcpdump is not installed")
    launcher = VirtualLauncher(two_leaves(), kernels)
    launcher.pcap = ("node1",)
    (outcome,) = launcher.run([request(tmp_path, 0, "exec $ALLTOALL 100000 1")])
    assert outcome.returncode == 0
    path = tmp_path / "launches" / "c000.l1.node1.pcap"
    lengths, addresses = packets(path.read_bytes())
    sent = sum(length for length, source in zip(lengths, addresses, strict=True) if source == "10.77.0.2")
    assert sent > 3 * 100_000
    assert {"10.77.0.1", "10.77.0.3", "10.77.0.4"} <= set(addresses)


def packets(data: bytes) -> tuple[list[int], list[str]]:
    """Length on the wire and IPv4 source of each packet of a pcap file (little endian, Ethernet)."""
    import struct

    assert data[:4] in (b"\xd4\xc3\xb2\xa1", b"\x4d\x3c\xb2\xa1")
    lengths: list[int] = []
    sources: list[str] = []
    at = 24
    while at < len(data):
        kept, length = struct.unpack_from("<II", data, at + 8)
        frame = data[at + 16 : at + 16 + kept]
        if frame[12:14] == b"\x08\x00":
            lengths.append(length)
            sources.append(".".join(map(str, frame[26:30])))
        at += 16 + kept
    return lengths, sources
