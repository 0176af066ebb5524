# SPDX-License-Identifier: BSD-3-Clause
"""A virtual cluster and its processes from outside: bring it up, find it, enter its hosts, take it down."""

import fcntl
import json
import os
import select
import shlex
import signal
import subprocess
import sys
from collections.abc import Generator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from weft.errors import LaunchError
from weft.format import format_rate
from weft.host import run_program
from weft.launch.virtual.permission import SEARCH, forbidden, remedy, unshare_command
from weft.launch.virtual.spec import VirtualSpec
from weft.launch.virtual.wiring import address, orders


def usage(spec: VirtualSpec, file: str) -> str:
    """What is up, and the commands to use it."""
    first = spec.hosts[0]
    links = "\n".join(f"  {link.name:<24} {format_rate(link.rate):>12} each way" for link in spec.links)
    hosts = ", ".join(f"{host} ({address(spec, host)})" for host in spec.hosts[:8])
    more = f" and {len(spec.hosts) - 8} more" if len(spec.hosts) > 8 else ""
    pair = ",".join(spec.hosts[:2])
    return f"""{spec.name} is up: {len(spec.hosts)} hosts, {len(spec.switches)} switches
  {hosts}{more}
{links}

  weft run STUDY --on {file}  measure over it
  weft fabric exec {first} CMD  run a command on a host (a shell without CMD)
  weft fabric exec {first} tc -s qdisc  the counters of its link
  weft fabric down {spec.name}

Your own MPI programs (Open MPI, MPICH) go over the links too; exec sets what is needed for that:
  weft fabric exec {first} mpiexec --host {pair} PROGRAM     (MPICH: -hosts)
"""


AGENT = "/proc/1/root/dev/shm/weft/agent"  # as every host of the cluster sees it: process 1 is the holder
SECONDS_TO_END = 10.0
KIND_NETWORK, KIND_MOUNT = 0, 3  # places of a host's namespaces among the holder's open files (``holder.KINDS``)
EMPTY = 'for fd in "$@"; do nsenter --mount=/proc/1/fd/$fd find /dev/shm -xdev -mindepth 1 -delete; done'


class Cluster:
    """A running cluster of namespaces; a context, which without ``standing`` also ends when this process does."""

    def __init__(self, holder: int, record: dict[str, Any], process: subprocess.Popen[str] | None = None) -> None:
        self.holder, self._process, self._pidfd = holder, process, os.pidfd_open(holder)
        self._files: dict[str, list[int]] = record["nodes"]
        self._counters: dict[str, int] = record.get("counters", {})
        self.spec = VirtualSpec.from_record(record)

    @classmethod
    def start(cls, spec: VirtualSpec, *, standing: bool = False) -> "Cluster":
        """Bring a cluster up; LaunchError without permission for namespaces, a command, or a part of the kernel."""
        mode = "standing" if standing else "session"
        try:
            process = subprocess.Popen(
                [*unshare_command(), sys.executable, "-I", "-S", str(HOLDER), mode, spec.name],
                stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, encoding="utf-8",
                errors="replace", env={**os.environ, "PATH": SEARCH}, cwd="/",
                start_new_session=True,  # Ctrl-C is for Weft to handle: the launch ends first, the cluster after it
            )  # fmt: skip
        except FileNotFoundError as error:
            raise LaunchError("a virtual cluster needs unshare, which is not on PATH", remedy()) from error
        answer = _ordered(process, spec)
        if not answer.get("ready"):
            process.kill()
            said = process.communicate()[1].strip()
            if reason := forbidden():
                raise LaunchError(f"no virtual cluster can be brought up here: {reason}", remedy())
            words = answer.get("error") or said or f"exit code {process.returncode}"
            by_hand = f"try it by hand: {shlex.join(unshare_command())} sh"
            raise LaunchError(f"cannot bring up {spec.name}: {words}", by_hand)
        holder = child_of(process.pid)
        record = read_record(holder)
        if record is None:
            process.kill()
            raise LaunchError(f"the holder of {spec.name} (process {holder}) ended at once", "try again")
        if standing:
            _let_go(process)
        return cls(holder, record, None if standing else process)

    @classmethod
    def standing(cls) -> "list[Cluster]":
        """Standing clusters of this user."""
        records = ((holder, read_record(holder)) for holder in standing_holders())
        found = [cls(holder, record) for holder, record in records if record is not None]
        return sorted(found, key=lambda cluster: cluster.spec.name)

    @classmethod
    def find(cls, name: str = "") -> "Cluster":
        """The standing cluster of a name, or the only one; LaunchError if none is up, or several are without a name."""
        up = cls.standing()
        chosen = [cluster for cluster in up if name in ("", cluster.spec.name)]
        if len(chosen) == 1:
            return chosen[0]
        names = ", ".join(cluster.spec.name for cluster in up) or "none"
        if chosen:
            raise LaunchError(f"several virtual fabrics are up: {names}", "name the one that you mean")
        wanted = f"no virtual fabric named {name} is up" if name else "no virtual fabric is up"
        raise LaunchError(f"{wanted} (up: {names})", "bring one up: weft fabric up virtual-default")

    def command(self, node: str, argv: Sequence[str], folder: Path | None = None) -> list[str]:
        """Command line that runs ``argv`` on a host, in ``folder`` or here; LaunchError if there is no such host."""
        if node not in self._files:
            raise LaunchError(f"{self.spec.name} has no node {node!r}", f"its nodes: {', '.join(self.spec.hosts)}")
        net, uts, ipc, mnt = (f"/proc/{self.holder}/fd/{number}" for number in self._files[node])
        own = [f"--net={net}", f"--uts={uts}", f"--ipc={ipc}", f"--mount={mnt}", "--"]
        # nsenter --wd would keep a directory of the outer mount namespace, where getcwd fails
        return [*self._enter(), *own, "sh", "-c", 'cd -- "$0" && exec "$@"', str(folder or Path.cwd()), *argv]

    def holder_command(self, argv: Sequence[str]) -> list[str]:
        """Command line that runs ``argv`` where the switches are."""
        return [*self._enter(), "--net", "--mount", "--", *argv]

    def run(self, node: str, argv: Sequence[str]) -> subprocess.CompletedProcess[str]:
        """Run a command on a host to its end and take its output."""
        return run_program(self.command(node, argv))

    def network_file(self, name: str) -> int:
        """Number of the holder's open file that is the network namespace of a host or switch."""
        return self._files[name][KIND_NETWORK]

    def counter_files(self) -> dict[str, Path]:
        """Files with the counters of all interfaces at switches, by namespace: the holder's own, or each router's."""
        process = Path(f"/proc/{self.holder}")
        return {name: process / f"fd/{number}" for name, number in self._counters.items()} or {"": process / "net/dev"}

    def sweep(self) -> None:
        """End every process on the hosts, and remove what it left in their ``/dev/shm``."""
        end_inhabitants(self.holder)
        mounts = [str(self._files[host][KIND_MOUNT]) for host in self.spec.hosts]
        subprocess.run(self.holder_command(["sh", "-c", EMPTY, "sh", *mounts]), check=False)

    @contextmanager
    def reserved(self) -> Generator[None]:
        """Lock the cluster for one run: a second would disturb it, and be ended by it. LaunchError if one holds it."""
        handle = os.open(f"/proc/{self.holder}/{RECORD}", os.O_RDONLY)
        try:
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                what = f"another weft runs over the virtual fabric {self.spec.name}"
                raise LaunchError(what, f"wait for it, or end it: weft fabric down {self.spec.name}") from None
            yield
        finally:
            os.close(handle)

    def alive(self) -> bool:
        """Whether the holder is still running."""
        return not select.select([self._pidfd], [], [], 0)[0]

    def close(self) -> None:
        """Take the cluster down, if it is up; returns when its last process has ended, else LaunchError."""
        if self._pidfd < 0:
            return
        if self.alive():
            # process 1: the kernel kills and reaps every other process of the namespace before this one is gone
            signal.pidfd_send_signal(self._pidfd, signal.SIGKILL)
        if not select.select([self._pidfd], [], [], SECONDS_TO_END)[0]:
            raise LaunchError(f"the holder of {self.spec.name} (process {self.holder}) does not end", "look at dmesg")
        os.close(self._pidfd)
        self._pidfd = -1
        if self._process is not None:
            self._process.wait()
            _let_go(self._process)

    def __enter__(self) -> "Cluster":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _enter(self) -> list[str]:
        into = ["nsenter", "--target", str(self.holder), "--pid"]
        if Path("/proc/self/ns/user").readlink() != Path(f"/proc/{self.holder}/ns/user").readlink():
            # setgroups is denied in there, so credentials stay: one is root by the mapping already
            into += ["--user", "--preserve-credentials"]
        return into


def _ordered(process: subprocess.Popen[str], spec: VirtualSpec) -> dict[str, Any]:
    """Send the holder its specification and read its answer; empty when it died before answering."""
    assert process.stdin is not None and process.stdout is not None
    try:
        process.stdin.write(json.dumps(orders(spec, Path(__file__).with_name("agent.sh").read_text())) + "\n")
        process.stdin.flush()
        line = process.stdout.readline()
    except BrokenPipeError:
        line = ""
    except BaseException:  # Ctrl-C while it is being built
        process.kill()
        process.wait()
        raise
    return json.loads(line) if line else {}


def _let_go(process: subprocess.Popen[str]) -> None:
    for stream in (process.stdin, process.stdout, process.stderr):
        if stream is not None:
            stream.close()


PROC = Path("/proc")
HOLDER = Path(__file__).with_name("holder.py")
RECORD = "root/dev/shm/weft/cluster.json"
SHORTLY_S = 5.0


def child_of(parent: int) -> int:
    """The one child of ``unshare --fork`` or ``nsenter --pid``, by its number out here; 0 when there is none."""
    children = PROC / str(parent) / "task" / str(parent) / "children"
    try:
        if children.is_file():  # a kernel built with CONFIG_PROC_CHILDREN
            return int((children.read_text().split() or ["0"])[0])
    except OSError:
        return 0
    return next((int(entry.name) for entry in _numbered() if _parent(entry) == parent), 0)


def inhabitants(holder: int) -> list[int]:
    """Every process in the PID namespace of a holder, itself excepted."""
    namespace = _pid_namespace(PROC / str(holder))
    found = [int(entry.name) for entry in _numbered() if _pid_namespace(entry) == namespace]
    return [pid for pid in found if pid != holder] if namespace else []


def end_inhabitants(holder: int) -> None:
    """Kill a cluster's processes but its holder, held by a file lest a number is used again."""
    namespace = _pid_namespace(PROC / str(holder))
    for pid in inhabitants(holder):
        try:
            handle = os.pidfd_open(pid)
        except OSError:
            continue
        try:
            if namespace and _pid_namespace(PROC / str(pid)) == namespace:
                signal.pidfd_send_signal(handle, signal.SIGKILL)
                select.select([handle], [], [], SHORTLY_S)
        except ProcessLookupError:
            pass
        finally:
            os.close(handle)


def standing_holders() -> list[int]:
    """Holders of this user's clusters that were brought up to stay."""
    return sorted(int(entry.name) for entry in _numbered() if _is_standing(entry))


def read_record(holder: int) -> dict[str, Any] | None:
    """What the holder wrote of its cluster; None when it is not (or no longer) there."""
    with suppress(OSError, ValueError):
        return json.loads((PROC / str(holder) / RECORD).read_text())
    return None


def _numbered() -> list[Path]:
    return [entry for entry in PROC.iterdir() if entry.name.isdecimal()]


def _pid_namespace(process: Path) -> str:
    with suppress(OSError):  # it ended, or belongs to another user
        return str((process / "ns" / "pid").readlink())
    return ""


def _parent(process: Path) -> int:
    with suppress(OSError):
        return int((process / "stat").read_text().rpartition(")")[2].split()[1])
    return 0


def _is_standing(process: Path) -> bool:
    with suppress(OSError):  # it ended meanwhile
        words = (process / "cmdline").read_bytes().split(b"\0")
        is_parent = Path(os.fsdecode(words[0])).name == "unshare"  # with the same arguments behind it
        stands = os.fsencode(HOLDER) in words and b"standing" in words
        return stands and not is_parent and process.stat().st_uid == os.geteuid()
    return False
