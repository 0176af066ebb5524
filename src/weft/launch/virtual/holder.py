# SPDX-License-Identifier: BSD-3-Clause
"""The one process that holds a virtual cluster: process 1 of its PID namespace.

Run by path inside fresh namespaces, with the standard library alone. Reads its orders (one line of JSON) from stdin,
builds the cluster, prints one line of JSON, and waits. The namespaces of the hosts live by its open files and nothing
else (no bind mounts, no files outside its own tmpfs), so when it ends the kernel takes everything back: every process
in the PID namespace is killed, every namespace, link and mount goes.

A *session* ends when stdin closes. A pipe rather than ``PR_SET_PDEATHSIG``: that fires when the *thread* that started
the holder ends, and is lost at an ``execve`` that gains privileges. A *standing* cluster waits for its SIGKILL.
"""

import json
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

STATE = Path("/dev/shm/weft")
KINDS = ("net", "uts", "ipc", "mnt")
NEEDED = ("unshare", "nsenter", "mount", "ip", "tc", "hostname")


def run(argv: list[str], text: str = "") -> None:
    """Run a command of the build; its message is what the user reads when it fails."""
    done = subprocess.run(argv, input=text, capture_output=True, encoding="utf-8", errors="replace", check=False)
    if done.returncode:
        raise RuntimeError(f"{' '.join(argv)}: {done.stderr.strip() or f'exit code {done.returncode}'}")


def anchor() -> subprocess.Popen[str]:
    """Start a shell in its own namespaces, the future host; it lives until its script has run."""
    inner = 'echo; exec sh -c "$(cat)"'
    return subprocess.Popen(
        ["unshare", "--net", "--uts", "--ipc", "--mount", "--propagation", "slave", "sh", "-c", inner],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, encoding="utf-8", errors="replace",
    )  # fmt: skip


def keep(pid: int) -> list[int]:
    """Open the namespaces of a process; they stay for as long as this process does."""
    return [os.open(f"/proc/{pid}/ns/{kind}", os.O_RDONLY) for kind in KINDS]


def build(given: dict[str, Any]) -> None:
    """Make the cluster. Raises RuntimeError: A command failed; the message has its own words."""
    # every Linux has a /dev/shm, and this mount namespace has no other use for it
    run(["mount", "-t", "tmpfs", "-o", "mode=755", "weft", "/dev/shm"])
    STATE.mkdir()
    for name, text in given["files"].items():
        (STATE / name).write_text(text)
    (STATE / "agent").chmod(0o755)
    for place, value in given["settings"].items():
        if Path(place).exists():
            Path(place).write_text(value, encoding="utf-8")
    anchors = {host: anchor() for host in given["hosts"]}
    nodes, counters = dict[str, list[int]](), dict[str, int]()
    batch = given["ip"]
    for host, process in anchors.items():
        assert process.stdout is not None
        if process.stdout.readline() != "\n":
            raise RuntimeError(f"unshare for {host}: {process.stdout.read().strip() or 'ended at once'}")
        nodes[host] = keep(process.pid)
        if host in given["counted"]:  # an open file of it keeps giving the numbers of that namespace to who opens it
            counters[host] = os.open(f"/proc/{process.pid}/net/dev", os.O_RDONLY)
        batch = batch.replace(f"{{pid:{host}}}", str(process.pid))
    run(["ip", "-batch", "-"], batch)
    run(["tc", "-batch", "-"], given["tc"])
    for host, process in anchors.items():
        said, _ = process.communicate(given["hosts"][host])
        if process.returncode:
            raise RuntimeError(f"host {host}: {said.strip() or f'exit code {process.returncode}'}")
    for host, files in nodes.items():
        (STATE / f"node.{host}").write_text(" ".join(map(str, files)) + "\n")
    (STATE / "cluster.json").write_text(json.dumps({**given["record"], "nodes": nodes, "counters": counters}))


def main() -> int:
    """Build, say so, and wait."""
    os.environ["PATH"] = os.environ.get("PATH", "/usr/bin:/bin") + ":/usr/sbin:/sbin"
    for signum in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(signum, signal.SIG_IGN)
    try:
        given = json.loads(sys.stdin.readline())
        if absent := [name for name in NEEDED if shutil.which(name) is None]:
            raise RuntimeError(f"{', '.join(absent)}: not found on PATH")
        build(given)
    except (RuntimeError, OSError, ValueError) as error:
        print(json.dumps({"error": str(error)}), flush=True)
        return 1
    print(json.dumps({"ready": True}), flush=True)
    # orphans of the hosts become children of process 1: ignoring SIGCHLD has the kernel reap them
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    if sys.argv[1:2] == ["standing"]:
        devnull = os.open(os.devnull, os.O_RDWR)
        for stream in (0, 1, 2):
            os.dup2(devnull, stream)
        while True:
            signal.pause()
    sys.stdin.read()
    return 0


if __name__ == "__main__":
    sys.exit(main())
