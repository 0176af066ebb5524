# SPDX-License-Identifier: BSD-3-Clause
"""``weft doctor``: what this host has, what it lacks and for what, and the command that installs it."""

import os
import resource
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

from weft.doctor.probe import Probe, failure, two_ranks, two_simulated_ranks
from weft.errors import LaunchError
from weft.extras import apt_install, as_root
from weft.files.atomic import temporary
from weft.files.shipped import cache
from weft.format import format_bytes
from weft.host import read, read_host
from weft.launch.toolchain import compiler_version, tool
from weft.launch.virtual.permission import forbidden, lacking_packages, remedy, unshare_command
from weft.mpi.library import find_mpi
from weft.mpi.starting import cores_here, settings_without_delay

BUILDING_BYTES = 32 * 2**20  # room asked of the cache: a guess on the safe side for what a build writes, not measured
TEMPORARY_BYTES = 8 * 2**20  # asked for a compiler's intermediate files: a guess on the safe side, not measured
PINNED_LEAST = 64 * 2**20
SHARED_LEAST = 256 * 2**20
ADMINISTRATORS = "/usr/local/sbin:/usr/sbin:/sbin"  # where Debian installs such programs; a user's PATH often lacks it
OPENS_PMIX = "import ctypes; ctypes.CDLL('libpmix.so')"  # as Slurm's plugin does, by the name in libpmix-dev
SLURM_HERE = "weft fabric slurm-here; on a cluster: set SLURM_CONF to its slurm.conf"
# name, commands that must all work, purpose, Debian package, kind of fabric that needs it
PROGRAMS: tuple[tuple[str, tuple[str, ...], str, str, str], ...] = (
    ("packet capture", ("tcpdump --version",), "weft run --pcap on a virtual fabric", "tcpdump", ""),
    (
        "Slurm", ("squeue --noheader --me", "sbatch --version", "srun --version"), "fabrics of kind slurm",
        "slurm-client", "slurm",
    ),
    (
        "a Slurm of our own", ("slurmctld -V", "slurmd -V", "munged --version"), "trying Slurm on this host",
        "slurm-wlm munge libpmix-dev", "",
    ),
    (
        "SimGrid", ("smpicxx --version", "smpirun -version"), "fabrics of kind simulated", "libsimgrid-dev",
        "simulated",
    ),
    (
        "OpenSM, ibsim", ("opensm --version", "ibsim -h"), "routing tables of a planned InfiniBand fabric",
        "opensm ibsim-utils", "",
    ),
)  # fmt: skip
FOR_DEVELOPERS: tuple[tuple[str, tuple[str, ...], str, str, str], ...] = (
    ("Chromium", ("chromium --version",), "the tests that open a report in a browser", "chromium", ""),
)


def cached_kernels() -> Probe:
    """Try to write a program into the cache, and to start it there."""
    place = cache()
    nearest = next(folder for folder in (place, *place.parents) if folder.is_dir())  # nothing is made that stays
    purpose = "building the kernels, at first use"
    try:
        with tempfile.TemporaryDirectory(prefix="weft-doctor-", dir=nearest) as made:
            reserve(Path(made) / "room", BUILDING_BYTES)
            program = Path(made) / "program"
            program.write_text("#!/bin/sh\n")
            program.chmod(0o755)
            subprocess.run([program], check=True, capture_output=True, stdin=subprocess.DEVNULL)
    except (OSError, subprocess.CalledProcessError) as error:
        if isinstance(error, PermissionError) and error.filename and Path(error.filename).name == "program":
            why = f"{purpose}: no program may be started in {place} (mounted noexec?)"
            remedy = "set XDG_CACHE_HOME to a folder of a disk that is not mounted noexec, and that the nodes see"
            lacks = "a cache that programs start from"
        else:
            reason = (isinstance(error, OSError) and error.strerror) or str(error)
            why = f"{purpose}: {format_bytes(BUILDING_BYTES)} cannot be written to {place} ({reason})"
            remedy = "make room there, or set XDG_CACHE_HOME to a folder that you may write, and that the nodes see"
            lacks = "a cache with room"
        return Probe("cache", "", "missing", why, remedy, needed=True, lacks=lacks)
    return Probe("cache", str(place), "ok", needed=True)


def temporary_files() -> Probe:
    """Try to write where compilers and MPI libraries put their temporary files."""
    place = temporary()
    try:
        with tempfile.TemporaryDirectory(prefix="weft-doctor-", dir=place) as made:
            reserve(Path(made) / "room", TEMPORARY_BYTES)
    except OSError as error:
        why = f"compilers and MPI libraries: {format_bytes(TEMPORARY_BYTES)} cannot be written to {place}"
        why, remedy = f"{why} ({error.strerror})", "make room there, or set TMPDIR to another folder"
        return Probe("temporary files", "", "missing", why, remedy, needed=True, lacks=f"room in {place}")
    return Probe("temporary files", str(place), "ok", needed=True)


def reserve(path: Path, size_bytes: int) -> None:
    """Take room on the disk without writing through it; OSError where there is none, or a quota is used up."""
    with path.open("wb") as file:
        os.posix_fallocate(file.fileno(), 0, size_bytes)


def examine(root: Path = Path("/")) -> list[Probe]:
    """Look for everything that Weft can use; of the compilers and programs started for that nothing stays behind."""
    found = [
        mpi(), mpi_start(root), two_ranks(root), build_tool("C++ compiler", compiler_version, "a C++ compiler"),
        *(build_tool(name, partial(tool, name)) for name in ("cmake", "ninja")), cached_kernels(),
        temporary_files(), cores(), load(root), memory(root), locked_memory(root), shared_memory(root), governor(root),
        virtual_fabrics(), *(programs(root, *wanted) for wanted in PROGRAMS),
    ]  # fmt: skip
    return found + [replace(programs(root, *wanted), developers=True) for wanted in FOR_DEVELOPERS]


def healthy(probes: Sequence[Probe]) -> bool:
    """Whether ``weft run`` can work on this host."""
    return not any(probe.needed and probe.verdict == "missing" for probe in probes)


def mpi() -> Probe:
    """Find the MPI that would be measured, and its origin."""
    try:
        found = find_mpi()
        starter = found.mpiexec()
    except LaunchError as error:
        return Probe("MPI", "", "missing", f"measuring anything: {error.what}", error.remedy, needed=True, lacks="MPI")
    name = found.described() or "a library that does not state its name"
    return Probe("MPI", f"{name}: {found.wrapper} (by {found.origin}), {starter}", "ok", needed=True)


def mpi_start(root: Path) -> Probe:
    """Find out whether jobs that a user starts by hand wait for components that only delay them."""
    try:
        found = find_mpi()
        library = found.described()
        quick = settings_without_delay(library, found.mpiexec(), os.environ, root) if library else {}
    except LaunchError:
        return Probe("MPI start", "not known without an MPI", "ok")
    if library is None or library.major < 5 or not quick:
        return Probe("MPI start", "without components that only delay it", "ok")
    found = f"weft run on this host sets {' '.join(f'{name}={value}' for name, value in quick.items())}"
    why = "jobs started by hand on one host wait a second in MPI_Init for the OFI BTL"
    return Probe("MPI start", found, "warn", why, "export OMPI_MCA_btl=^ofi")


def build_tool(name: str, find: Callable[[], str], lacks: str = "") -> Probe:
    """Find what builds the kernels."""
    try:
        return Probe(name, find(), "ok", needed=True)
    except LaunchError as error:
        return Probe(name, "", "missing", "building the kernels, at first use", error.remedy, needed=True, lacks=lacks)


def cores() -> Probe:
    """Count the cores available to ranks."""
    here = cores_here()
    found = f"{here.physical}" + (f", {here.threads} hardware threads" if here.threads != here.physical else "")
    if here.restricted:
        remedy = "taskset -p $$ shows the mask; leave the taskset or cgroup that set it"
        return Probe("cores", f"{found} of {os.cpu_count()}", "warn", "this process may not use every core", remedy)
    return Probe("cores", found, "ok")


def load(root: Path) -> Probe:
    """Check whether other processes use the cores."""
    busy = float(read(root / "proc/loadavg").strip().partition(" ")[0] or "0")
    found = f"{busy:g} runnable processes"
    if busy > 0.5 * cores_here().threads:
        why = "others use the cores: their work disturbs the measurement"
        return Probe("load", found, "warn", why, "top shows who; measure when they are done")
    return Probe("load", found, "ok")


def memory(root: Path) -> Probe:
    """Find the memory available to ranks, and what limits it."""
    host = read_host(root)
    limits = ", ".join(f"{limit.by} {format_bytes(limit.bytes)}" for limit in host.limits)
    found = f"{format_bytes(host.memory_bytes)}; now: {limits or 'unknown'}"
    if read(root / "proc/swaps").strip().splitlines()[1:]:
        why = "a cell that swaps is marked, and its times are not usable"
        return Probe("memory", f"{found}; swap is on", "warn", why, as_root("swapoff -a"))
    return Probe("memory", found, "ok")


def locked_memory(root: Path) -> Probe:
    """Check how much memory may be pinned; InfiniBand and other RDMA networks pin their buffers."""
    soft, _ = resource.getrlimit(resource.RLIMIT_MEMLOCK)
    found = "unlimited" if soft == resource.RLIM_INFINITY else format_bytes(soft)
    adapter = (root / "sys/class/infiniband").exists()
    name = "locked memory (ulimit -l)"
    if adapter and soft != resource.RLIM_INFINITY and soft < PINNED_LEAST:
        remedy = "ulimit -l unlimited; permanently: '* - memlock unlimited' in /etc/security/limits.conf"
        return Probe(name, found, "warn", "the InfiniBand adapter: MPI falls back to TCP or fails", remedy)
    return Probe(name, found + ("" if adapter else " (no RDMA adapter here)"), "ok")


def shared_memory(root: Path) -> Probe:
    """Check the size of /dev/shm, through which ranks of one host exchange messages."""
    place = root / "dev/shm"
    if not place.is_dir():
        remedy = f"{as_root('mkdir -p /dev/shm')} && {as_root('mount -t tmpfs tmpfs /dev/shm')}"
        return Probe("/dev/shm", "", "missing", "fast messages between ranks of this host", remedy)
    usage = shutil.disk_usage(place)
    found = f"{format_bytes(usage.total)}, {format_bytes(usage.free)} free"
    if usage.free < SHARED_LEAST:
        why = "messages between ranks of this host: MPI needs up to 16 MiB a rank"
        remedy = f"{as_root('mount -o remount,size=1g /dev/shm')}; in a container: --shm-size=1g"
        return Probe("/dev/shm", found, "warn", why, remedy)
    return Probe("/dev/shm", found, "ok")


def governor(root: Path) -> Probe:
    """Check whether the cores' frequency may change during a run."""
    mode, name = read(root / "sys/devices/system/cpu/cpu0/cpufreq/scaling_governor").strip(), "frequency governor"
    if mode in ("", "performance"):
        return Probe(name, mode or "not visible (a virtual machine?)", "ok")
    remedy = as_root("cpupower frequency-set -g performance")
    return Probe(name, mode, "warn", "frequencies change while cells are measured", remedy)


def virtual_fabrics() -> Probe:
    """Try to make network namespaces as this user: settings, capabilities and tools all matter."""
    reason = forbidden()
    if reason:
        lacks = ", ".join(lacking_packages()) or "permission to make namespaces"
        why = f"fabrics of kind virtual: {' '.join(reason.split())}"
        return Probe("virtual fabrics", "", "missing", why, remedy(), serves="virtual", lacks=lacks)
    how = "in a user namespace" if "--user" in unshare_command() else "as root"
    return Probe("virtual fabrics", f"allowed {how} (tried just now)", "ok")


def programs(root: Path, name: str, wanted: Sequence[str], needed_for: str, package: str, serves: str = "") -> Probe:
    """Try programs that are installed together, each by one command."""
    path = f"{os.environ.get('PATH', '')}:{ADMINISTRATORS}"
    found = {command.partition(" ")[0]: shutil.which(command.partition(" ")[0], path=path) for command in wanted}
    places = [place for place in found.values() if place]
    if len(places) < len(found):
        absent = ", ".join(program for program, place in found.items() if place is None)
        why = f"{needed_for} (no {absent})"
        return Probe(name, "", "missing", why, install(root, package), serves=serves, lacks=package)
    failures = ((command.split()[0], failure([places[at], *command.split()[1:]])) for at, command in enumerate(wanted))
    fails = next(((program, why) for program, why in failures if why), None)
    if name == "SimGrid" and not fails and (why := two_simulated_ranks(*places)):
        fails = ("two simulated ranks", why)
    if name == "a Slurm of our own" and not fails and (why := failure([sys.executable, "-c", OPENS_PMIX])):
        fails = ("srun --mpi=pmix", why)
    if fails:
        remedy = SLURM_HERE if serves == "slurm" else install(root, package)
        why = f"{needed_for} ({fails[0]}: {fails[1]})"
        return Probe(name, "", "missing", why, remedy, serves=serves, lacks=f"{fails[0]} that works")
    return Probe(name, f"{', '.join(places)} (tried just now)", "ok")


def install(root: Path, package: str) -> str:
    """Command that installs Debian packages, or their names for other systems."""
    if (root / "etc/debian_version").exists():
        return apt_install(package)
    return f"install what Debian calls {package}, by your package manager or your site's modules"
