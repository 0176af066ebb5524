# SPDX-License-Identifier: BSD-3-Clause
"""Nothing is left behind, however Weft ends: no process, link, mount or namespace."""

import json
import os
import select
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from clusters import alive, gone, two_leaves, variables

from weft.errors import LaunchError
from weft.launch.virtual.cluster import Cluster, inhabitants, standing_holders

pytestmark = pytest.mark.virtual

# brings a cluster up, starts something long on every host, tells the holder's number, and then does what it is told
# (its own SIGHUP is set back: these tests may run under nohup)
SESSION = """
import json, signal, subprocess, sys, time
signal.signal(signal.SIGHUP, signal.SIG_DFL)
from clusters import two_leaves
from weft.launch.virtual.cluster import Cluster
with Cluster.start(two_leaves()) as up:
    busy = [subprocess.Popen(up.command(host, ['sleep', '1000']), start_new_session=True) for host in up.spec.hosts]
    orphan = up.run('node0', ['sh', '-c', 'setsid sleep 2000 >/dev/null 2>&1 </dev/null & echo'])
    print(json.dumps({'holder': up.holder, 'entered': [each.pid for each in busy]}), flush=True)
    word = sys.stdin.readline().strip()
    if word == 'error':
        raise RuntimeError('planted')
"""


def traces() -> dict[str, set[str]]:
    """What a cluster could leave on this machine, apart from processes."""
    shown = subprocess.run(["ip", "-o", "link"], capture_output=True, text=True, check=True).stdout
    names = subprocess.run(["ip", "netns", "list"], capture_output=True, text=True, check=True).stdout
    return {
        "links": {line.split(":")[1] for line in shown.splitlines()},
        "names": set(names.split()),
        "mounts": set(Path("/proc/mounts").read_text().splitlines()),
        "files": {str(path) for path in Path("/tmp").glob("weft-virtual*")}
        | {str(p) for p in Path("/run").glob("weft*")},
    }


def started(prefix: list[str], home: Path) -> tuple[subprocess.Popen[str], int, list[int]]:
    """Start the session above; gives it, its holder's number, and those of the processes that entered hosts."""
    session = subprocess.Popen(
        [*prefix, sys.executable, "-c", SESSION],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
        cwd=home, env=variables(home),
    )  # fmt: skip
    assert session.stdout is not None
    told = json.loads(session.stdout.readline())
    return session, told["holder"], told["entered"]


def settled(holder: int, least: int) -> list[int]:
    """The inhabitants of a cluster once there are as many as were sent in: entering a host takes a moment."""
    deadline = time.monotonic() + 20
    while len(inside := inhabitants(holder)) < least:
        assert time.monotonic() < deadline, f"{len(inside)} processes inside after 20 s, {least} expected"
        time.sleep(0.02)
    return inside


@pytest.mark.parametrize("end", ["return", "error", "SIGKILL", "SIGINT", "SIGTERM", "SIGHUP"])
def test_nothing_is_left_however_weft_ends(end: str, as_user: list[str], open_folder: Path) -> None:
    before = traces()
    session, holder, entered = started(as_user, open_folder)
    inside = settled(holder, len(entered) + 1)
    assert traces() == before, "a cluster that is up must not be seen from outside either"
    if end.startswith("SIG"):
        session.send_signal(getattr(signal, end))
    else:
        assert session.stdin is not None
        session.stdin.write(f"{end}\n")
        session.stdin.flush()
    session.wait(10)
    assert gone([holder, *inside, *entered])
    assert traces() == before


def test_a_holder_that_is_killed_takes_its_hosts_along(own_cluster: Cluster) -> None:
    sleeper = subprocess.Popen(own_cluster.command("node3", ["sleep", "1000"]))
    while not inhabitants(own_cluster.holder):
        time.sleep(0.01)
    inside = inhabitants(own_cluster.holder)
    os.kill(own_cluster.holder, signal.SIGKILL)
    assert sleeper.wait(5) != 0
    assert gone(inside)
    until = time.monotonic() + 10
    while own_cluster.alive() and time.monotonic() < until:
        time.sleep(0.01)  # its parent has still to take its exit code
    assert not own_cluster.alive()
    own_cluster.close()


def test_sweeping_ends_what_runs_and_what_it_left_in_shared_memory(own_cluster: Cluster) -> None:
    own_cluster.run("node1", ["sh", "-c", "echo >/dev/shm/left; setsid sleep 1000 >/dev/null 2>&1 </dev/null &"])
    assert inhabitants(own_cluster.holder)
    own_cluster.sweep()
    assert not inhabitants(own_cluster.holder)
    assert own_cluster.run("node1", ["ls", "/dev/shm"]).stdout == ""


def test_a_standing_cluster_outlives_its_maker_until_it_is_closed(as_user: list[str], open_folder: Path) -> None:
    script = (
        "from clusters import two_leaves; from weft.launch.virtual.cluster import Cluster\n"
        "print(Cluster.start(two_leaves('standing-test'), standing=True).holder)\n"
    )
    look = (
        "from weft.launch.virtual.cluster import Cluster; up = Cluster.find('standing-test')\n"
        "print(up.holder, up.run('node3', ['hostname']).stdout.strip(), up.spec.hosts[-1]); up.close()\n"
    )

    def run(text: str) -> str:
        return subprocess.run(
            [*as_user, sys.executable, "-c", text],
            capture_output=True, text=True, check=True, cwd=open_folder, env=variables(open_folder),
        ).stdout  # fmt: skip

    before = traces()
    holder = int(run(script))
    assert alive(holder)
    assert run(look).split() == [str(holder), "node3", "node3"]
    assert gone([holder])
    assert traces() == before


def test_a_run_holds_a_standing_cluster_for_itself() -> None:
    up = Cluster.start(two_leaves("held-test"), standing=True)
    try:
        other = Cluster.find("held-test")
        with up.reserved(), pytest.raises(LaunchError, match="another weft runs over"), other.reserved():
            pass
        with other.reserved():
            pass
    finally:
        up.close()
    assert up.holder not in standing_holders()
    with pytest.raises(LaunchError, match="no virtual fabric named held-test is up"):
        Cluster.find("held-test")


def test_the_session_ends_within_a_moment_of_weft(open_folder: Path) -> None:
    session, holder, _ = started([], open_folder)
    watched = os.pidfd_open(holder)
    try:
        session.kill()
        assert select.select([watched], [], [], 5.0)[0]  # a moment, with room for a busy machine
    finally:
        os.close(watched)
        session.wait()
