# SPDX-License-Identifier: BSD-3-Clause
"""What this host is: cores, memory, limits; and other programs, started for what they print."""

import math
import os
import re
import socket
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

UNLIMITED = 2**60  # cgroup v1 writes "no limit" as the largest multiple of a page below 2^63


@dataclass(frozen=True)
class Limit:
    """A memory limit of one node in bytes, and its source."""

    bytes: int
    by: str


@dataclass(frozen=True)
class Host:
    """The present host, as a node of a fabric."""

    name: str
    cores: int  # number of cores this process may run on
    memory_bytes: int  # memory of the host, or of the cgroup if that is less; does not depend on other processes
    limits: tuple[Limit, ...]  # limits on what can be allocated now, one for each source


def smallest(limits: Sequence[Limit]) -> Limit | None:
    """The smallest limit; None if none is known."""
    return min(limits, key=lambda limit: limit.bytes, default=None)


def parse_meminfo(text: str) -> dict[str, int]:
    """Bytes of each line of ``/proc/meminfo``."""
    found = re.findall(r"^(\w+(?:\(\w+\))?):\s+(\d+) kB$", text, re.MULTILINE)
    return {name: int(kilobytes) * 1024 for name, kilobytes in found}


def parse_cgroup_limit(text: str) -> int | None:
    """Bytes of ``memory.max`` (v2) or ``memory.limit_in_bytes`` (v1); None for no limit."""
    text = text.strip()  # "max", if it is no number
    return int(text) if text.isdigit() and int(text) < UNLIMITED else None


def cgroup_paths(text: str) -> dict[str, str]:
    """Paths of this process in ``/proc/self/cgroup`` by controller of cgroup v1; that of v2 has an empty name."""
    found: dict[str, str] = {}
    for line in text.splitlines():
        _, _, rest = line.partition(":")
        controllers, colon, path = rest.partition(":")
        if colon:
            found |= dict.fromkeys(controllers.split(","), path)
    return found


def read(path: Path) -> str:
    """Text of a file under /proc or /sys; empty if it is missing or not readable."""
    try:
        return path.read_text(encoding="ascii", errors="replace")
    except OSError:
        return ""


LOADING_S = 5.0  # that a process waits for its own files


def running_s(root: Path = Path("/")) -> float:
    """Seconds since this process began; those of the processor that it had where the system does not tell."""
    fields = read(root / "proc/self/stat").rpartition(")")[2].split()
    if len(fields) < 20:
        return time.process_time()
    age_s = time.clock_gettime(time.CLOCK_BOOTTIME) - int(fields[19]) / os.sysconf("SC_CLK_TCK")
    return min(age_s, time.process_time() + LOADING_S)


def upwards(mount: Path, path: str) -> Iterator[Path]:
    """A cgroup's folder and its parents up to the mount, as a limit on any applies; the mount alone of other paths."""
    folder = mount / path.lstrip("/")
    while folder != mount and mount in folder.parents:
        yield folder
        folder = folder.parent
    yield mount


def cgroup_limits(root: Path) -> Iterator[tuple[int, int]]:
    """Limit and free memory, both in bytes, of every cgroup of this process with a memory limit."""
    paths, base = cgroup_paths(read(root / "proc/self/cgroup")), root / "sys/fs/cgroup"
    unified = base if (base / "cgroup.controllers").exists() else base / "unified"
    for mount, name, limit_file, usage_file, cache in (
        (unified, "", "memory.max", "memory.current", "inactive_file"),
        (base / "memory", "memory", "memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file"),
    ):
        for folder in upwards(mount, paths[name]) if name in paths else ():
            limit = parse_cgroup_limit(read(folder / limit_file))
            if limit is not None:
                usage = parse_cgroup_limit(read(folder / usage_file)) or 0
                # the kernel reclaims clean file pages before it kills a process
                clean = re.search(rf"^{cache} (\d+)$", read(folder / "memory.stat"), re.MULTILINE)
                yield limit, max(0, limit - max(0, usage - int(clean[1] if clean else 0)))


def parse_cpus(text: str) -> frozenset[int]:
    """The processors of ``0-3,8``; none of a text that names none."""
    found: set[int] = set()
    for part in filter(None, text.split(",")):
        first, _, last = part.partition("-")
        if first.isdigit() and (last or first).isdigit() and int(last or first) - int(first) < 1 << 14:
            found.update(range(int(first), int(last or first) + 1))
    return frozenset(found)


def parse_cpu_max(text: str) -> float | None:
    """Cores of ``cpu.max`` (cgroup v2): quota over period; None for no limit."""
    quota, _, period = text.strip().partition(" ")
    return int(quota) / int(period) if quota.isdigit() and period.isdigit() and int(period) else None


def usable_threads(root: Path = Path("/")) -> int:
    """Threads that this process can keep busy: the cores of its affinity mask, or its cgroup's quota if less."""
    paths, base = cgroup_paths(read(root / "proc/self/cgroup")), root / "sys/fs/cgroup"
    found: list[float | None] = [float(len(os.sched_getaffinity(0)))]
    if "" in paths:
        found += [parse_cpu_max(read(folder / "cpu.max")) for folder in upwards(base, paths[""])]
    if "cpu" in paths:
        mount = next((each for each in (base / "cpu", base / "cpu,cpuacct") if each.is_dir()), base / "cpu")
        for folder in upwards(mount, paths["cpu"]):  # a quota of -1 means no limit
            quota, period = (read(folder / f"cpu.cfs_{name}_us").strip() for name in ("quota", "period"))
            found.append(parse_cpu_max(f"{quota} {period}"))
    return max(1, math.floor(min(each for each in found if each is not None)))


def scheduler_limit(environment: Mapping[str, str], cores: int) -> Limit | None:
    """Memory the scheduler gives this job on a node; None outside a job or if the scheduler does not state it."""
    node, core = environment.get("SLURM_MEM_PER_NODE", ""), environment.get("SLURM_MEM_PER_CPU", "")
    if node.isdigit() and int(node):  # 0 means all memory of the node
        return Limit(int(node) * 2**20, "SLURM_MEM_PER_NODE")
    return Limit(int(core) * 2**20 * cores, "SLURM_MEM_PER_CPU") if core.isdigit() and int(core) else None


def read_host(root: Path = Path("/"), environment: Mapping[str, str] | None = None, cores: int | None = None) -> Host:
    """Describe this host."""
    cores = len(os.sched_getaffinity(0)) if cores is None else cores
    memory = parse_meminfo(read(root / "proc/meminfo"))
    limits = [Limit(memory["MemAvailable"], "MemAvailable")] if "MemAvailable" in memory else []
    total = memory.get("MemTotal", 0)
    for limit, left in cgroup_limits(root):
        limits.append(Limit(left, "cgroup limit"))
        total = min(total, limit) if total else limit
    if scheduler := scheduler_limit(os.environ if environment is None else environment, cores):
        limits.append(scheduler)
    name = re.sub(r"[^A-Za-z0-9_.-]", "-", socket.gethostname()).strip("-.") or "localhost"
    return Host(name, cores, total, tuple(limits))


def run_program(
    command: Sequence[str | Path], *, text: str = "", env: Mapping[str, str] | None = None, folder: Path | None = None,
    timeout_s: float | None = None,
) -> subprocess.CompletedProcess[str]:  # fmt: skip
    """Run a command to its end, whatever its exit code, fed with `text`; OSError and TimeoutExpired are not caught."""
    return subprocess.run(
        command, input=text, env=env, cwd=folder, timeout=timeout_s, capture_output=True, encoding="utf-8",
        errors="replace", check=False,
    )  # fmt: skip
