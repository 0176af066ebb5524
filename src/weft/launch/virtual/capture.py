# SPDX-License-Identifier: BSD-3-Clause
"""Packets of a host, captured by ``tcpdump`` on its link."""

import os
import shutil
import signal
import subprocess
import threading
import time
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from weft.errors import LaunchError
from weft.extras import apt_install
from weft.launch.virtual.cluster import Cluster
from weft.launch.virtual.permission import SEARCH
from weft.launch.virtual.processes import child_of
from weft.launch.virtual.wiring import INTERFACE

SNAP = 96
"""Bytes kept of a packet: its headers. A capture of everything would be as large as the traffic, and disturb it."""

SECONDS = 10
FLUSH_S = 1.2
"""The kernel hands packets over by the second; what it still holds when ``tcpdump`` is asked to end is lost.
``--immediate-mode`` would wake it for each packet instead, on the cores that the ranks need."""


def capture_file(folder: Path, launch: str, node: str) -> Path:
    """File of the capture of a launch at a node in a run folder."""
    return folder / "launches" / f"{launch}.{node}.pcap"


def refuse_missing_tcpdump() -> None:
    """Check that ``tcpdump`` is installed. Raises LaunchError: There is none."""
    if shutil.which("tcpdump", path=SEARCH) is None:
        raise LaunchError("a capture needs tcpdump, which is not on PATH", apt_install("tcpdump"))


@contextmanager
def capture(cluster: Cluster, node: str, path: Path) -> Generator[None]:
    """Record the headers of packets on a host's link while the block runs; LaunchError if that is impossible."""
    refuse_missing_tcpdump()
    # -Z root: it would become the user tcpdump, which does not exist in a user namespace and may not write here
    words = ["tcpdump", "-i", INTERFACE, "-s", str(SNAP), "-B", "8192", "-U", "-n", "-Z", "root", "-w", str(path)]
    process = subprocess.Popen(
        cluster.command(node, ["env", f"PATH={SEARCH}", *words], path.parent),
        stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
        encoding="utf-8", errors="replace", start_new_session=True,
    )  # fmt: skip
    assert process.stderr is not None
    try:
        said = ""
        while "listening on" not in said:
            line = process.stderr.readline()
            if not line:
                again = f"weft fabric exec --fabric {cluster.spec.name} {node} tcpdump -D"
                raise LaunchError(f"tcpdump on {node} does not start: {said.strip()}", f"try it: {again}")
            said += line
        # its last words would fill the pipe otherwise
        threading.Thread(target=process.stderr.read, daemon=True).start()
        yield
        if process.poll() is None and (inner := child_of(process.pid)):
            time.sleep(FLUSH_S)
            os.kill(inner, signal.SIGINT)
            process.wait(SECONDS)
    finally:
        if process.poll() is None:
            process.kill()
        process.wait()
