# SPDX-License-Identifier: BSD-3-Clause
"""What crosses the links of a virtual cluster: counters of the kernel, and captures by tcpdump.

Each direction of a link is sent by exactly one interface with one ``tbf`` on it. Its counters are those of the wire:
the bytes of every frame with its header (an interface counts the segments of a large send once), and the packets
that found the queue full, which no interface counter holds.
"""

import json
import os
import shutil
import signal
import subprocess
import threading
import time
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from weft.errors import LaunchError
from weft.extras import apt_install
from weft.host import run_program
from weft.launch.virtual.cluster import Cluster, child_of
from weft.launch.virtual.permission import SEARCH
from weft.launch.virtual.spec import VirtualSpec
from weft.launch.virtual.wiring import INTERFACE, Port, ports
from weft.store.links import LinkCount

SNAP = 96  # bytes kept of a packet, its headers: a capture of all would be as large as the traffic, and disturb it
SECONDS = 10
# The kernel hands packets over by the second; what it still holds when ``tcpdump`` is asked to end is lost.
# ``--immediate-mode`` would wake it for each packet instead, on the cores that the ranks need.
FLUSH_S = 1.2


def refuse_missing_tcpdump() -> None:
    """LaunchError if ``tcpdump`` is not installed."""
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
            if not (line := process.stderr.readline()):
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


def counters_now(spec: VirtualSpec, files: Mapping[str, Path]) -> list[LinkCount]:
    """Bytes that crossed each link since the cluster came up; empty if it is gone. `files`: as `Cluster.counter_files`
    gives them. What the switch's end of a link received, the lower end has sent. Interfaces count a large send once,
    without the headers of its frames: 3 % less than `read_counters`.
    """
    try:
        texts = {space: file.read_text(encoding="utf-8") for space, file in files.items()}
    except OSError:
        return []
    # of ``/proc/net/dev``: received bytes are the first number of a line, sent ones its ninth
    lines = ((space, line.partition(":")) for space, text in texts.items() for line in text.splitlines())
    numbers = {(space, name.strip()): values.split() for space, (name, _, values) in lines if values}
    found: list[LinkCount] = []
    both = ports(spec)
    for below, above in zip(both[::2], both[1::2], strict=True):
        shown = numbers.get((above.host, above.interface), [])
        if len(shown) < 10 or not all(word.isdecimal() for word in shown[:10]):
            continue
        for port, column in ((below, 0), (above, 8)):
            counts = (int(shown[column]), int(shown[column + 1]), 0)
            found.append(LinkCount(port.link, port.sender, port.receiver, port.rate, *counts))
    return found


METHOD = "tbf"
SHOW = "tc -s -j qdisc show"
# one process for all namespaces: process 1, the holder, has them open. Only root's PATH has Debian's `tc`, in /usr/sbin
EVERYWHERE = f'PATH=$PATH:/usr/sbin:/sbin; {SHOW}; for fd in "$@"; do nsenter --net=/proc/1/fd/$fd {SHOW}; done'


def read_counters(cluster: Cluster) -> list[LinkCount]:
    """Read every link of a cluster, both directions; LaunchError if it is gone, or ``tc`` does not answer."""
    numbers = [str(cluster.network_file(name)) for name in cluster.spec.spaces]
    done = run_program(cluster.holder_command(["sh", "-c", EVERYWHERE, "sh", *numbers]))
    if done.returncode:
        what = f"the counters of {cluster.spec.name} cannot be read: {done.stderr.strip() or done.returncode}"
        remedy = f"is it still up? weft fabric exec --fabric {cluster.spec.name} {cluster.spec.hosts[0]} tc -s qdisc"
        raise LaunchError(what, remedy)
    return link_counts(ports(cluster.spec), cluster.spec.spaces, done.stdout)


def link_counts(senders: Sequence[Port], named: Sequence[str], text: str) -> list[LinkCount]:
    """Counters of each port from ``tc -s -j qdisc show`` of all spaces, holder's first; LaunchError for a lost one."""
    shown: list[dict[str, dict[str, Any]]] = []  # the ``tbf`` of every interface
    while text := text.strip():
        try:
            disciplines, end = json.JSONDecoder().raw_decode(text)
        except ValueError as error:
            raise LaunchError(f"tc printed no JSON: {text[:80]!r}", "iproute2 5 or newer is needed") from error
        shown.append({each["dev"]: each for each in disciplines if each["kind"] == "tbf"})
        text = text[end:]
    spaces, found = dict(zip(("", *named), shown, strict=True)), list[LinkCount]()
    for port in senders:
        shaper = spaces[port.host].get(port.interface)
        if shaper is None:
            what = f"link {port.link} has lost its limit from {port.sender} to {port.receiver}"
            raise LaunchError(what, "it was changed with tc: bring the fabric down and up again")
        counts = (int(shaper["bytes"]), int(shaper["packets"]), int(shaper["drops"]))
        found.append(LinkCount(port.link, port.sender, port.receiver, port.rate, *counts))
    return found
