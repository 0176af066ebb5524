# SPDX-License-Identifier: BSD-3-Clause
"""A real Slurm of virtual nodes on this host, to try things: munged, slurmctld and slurmd's in namespaces.

Everything runs below one holder process in a PID and network namespace: when its standard input closes, the holder
ends and the kernel ends the rest, job steps included. A user's commands (sbatch, ``weft run``) go in by ``nsenter``.
"""

import math
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Self

from weft.errors import FabricError, LaunchError
from weft.extras import apt_install
from weft.files.atomic import file_errors
from weft.host import run_program
from weft.mpi.starting import cores_here

NODES, CORES = 4, 4  # by default
MOST_NODES = 128  # each is a daemon
PORT = 17000
# The virtual nodes share one /dev/shm, where Open MPI's ranks of different nodes would meet and crash: TCP alone. On
# busy cores they die in MPI_Init now and then under Slurm's usual fence, never seen under its ring (docs/limits.md).
# Ranks that poll without yielding keep each other off the few cores. The kernels take the name of a node from slurmd:
# the host's is that of all. Slurm hands this environment to jobs: it is valid for any fabric file.
SETTINGS = {
    "SLURM_PMIX_FENCE": "ring",
    "OMPI_MCA_btl": "self,tcp",
    "OMPI_MCA_btl_tcp_if_include": "lo",
    "OMPI_MCA_mpi_yield_when_idle": "1",
    "WEFT_NODE_NAMED_BY": "SLURMD_NODENAME",
}
NEEDS = ("munged", "slurmctld", "slurmd", "sbatch", "unshare", "nsenter")
PATH = f"{os.environ.get('PATH', '/usr/bin:/bin')}:/usr/sbin:/sbin"
TEMPLATES = Path(__file__).parent / "templates"
CONFIGURATION, HOLDER, FABRIC = (
    (TEMPLATES / f"slurm-here.{ending}").read_text(encoding="utf-8") for ending in ("conf", "sh", "toml")
)


def topology(nodes: int) -> str:
    """Slurm's ``topology.conf`` of about as many leaves as nodes on each: four nodes have two leaves of two."""
    width = max(2, math.isqrt(nodes))
    leaves = [f"n[{first}-{min(first + width, nodes) - 1}]" for first in range(0, nodes, width)]
    lines = [f"SwitchName=leaf{number} Nodes={each}" for number, each in enumerate(leaves)]
    return "\n".join([*lines, f"SwitchName=spine Switches=leaf[0-{len(leaves) - 1}]", ""])


def why_not() -> str:
    """The reason why no Slurm can be had here, or an empty string."""
    missing = [name for name in NEEDS if shutil.which(name, path=PATH) is None]
    if missing:
        return f"{', '.join(missing)} missing -> {apt_install('slurm-wlm', 'munge', 'util-linux')}"
    if os.geteuid() != 0:
        return "slurmd drops its groups, which an unprivileged user namespace forbids -> run as root"
    return ""


def prepare_folder(folder: Path, nodes: Sequence[str]) -> None:
    """Make the folders of the daemons in an empty ``folder``, and munge's key."""
    for part in ("state", "log", *(f"{kind}/{node}" for kind in ("tmp", "spool") for node in nodes)):
        (folder / part).mkdir(parents=True)
    key = folder / "munge.key"
    key.write_bytes(os.urandom(1024))
    key.chmod(0o400)
    folder.chmod(0o755)


class RootlessSlurm:
    """A Slurm that lives as long as the ``with`` block."""

    def __init__(self, folder: Path, cores: int = CORES, nodes: int = NODES) -> None:
        self.folder, self.cores, self.nodes = folder, cores, [f"n{i}" for i in range(nodes)]
        self._holder: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Self:
        self._write_configuration()
        command = ["unshare", "--net", "--mount", "--pid", "--fork", "--mount-proc", "--kill-child", "bash", "-c"]
        script = HOLDER.replace("{nodes}", " ".join(self.nodes))
        with (self.folder / "holder.log").open("wb") as log:
            self._holder = subprocess.Popen(
                [*command, script], stdin=subprocess.PIPE, stdout=log, stderr=log, env=self.environment(),
                start_new_session=True,
            )  # fmt: skip
        try:
            self._wait_until(lambda: (self.folder / "ready").exists(), "the daemons to start")
            idle = ("sinfo", "-h", "-t", "idle", "-o", "%D")
            self._wait_until(lambda: self.run(*idle).stdout.strip() == str(len(self.nodes)), "idle nodes")
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        if self._holder is not None and self._holder.stdin is not None:
            self._holder.stdin.close()
            try:
                self._holder.wait(timeout=20)
            except subprocess.TimeoutExpired:
                self._holder.kill()  # with it the kernel ends all of its namespace
                self._holder.wait()

    def environment(self) -> dict[str, str]:
        """The environment in which Slurm's commands find this Slurm, and jobs run on nodes that are one host."""
        own = {"SLURM_CONF": str(self.folder / "slurm.conf"), "D": str(self.folder), "PATH": PATH}
        return {**os.environ, **SETTINGS, **own}

    def inside(self, *command: str) -> list[str]:
        """The command line that runs `command` inside the cluster's namespaces; LaunchError if it is not up."""
        if self._holder is None:
            raise LaunchError("this Slurm is not up", "enter it by a with statement first")
        pid = self._holder.pid
        child = Path(f"/proc/{pid}/task/{pid}/children").read_text(encoding="utf-8").split()[0]
        return ["nsenter", "--target", child, "--net", "--mount", "--pid", *command]

    def run(self, *command: str, timeout: float = 60) -> subprocess.CompletedProcess[str]:
        """Run a user's command inside, and return it with its output."""
        return run_program(self.inside(*command), env=self.environment(), timeout_s=timeout)

    def _write_configuration(self) -> None:
        prepare_folder(self.folder, self.nodes)
        text = CONFIGURATION.format(
            host=os.uname().nodename, folder=self.folder, port=PORT, last=len(self.nodes) - 1, first_port=PORT + 1,
            last_port=PORT + len(self.nodes), cores=self.cores, memory=node_mib(len(self.nodes)),
        )  # fmt: skip
        (self.folder / "slurm.conf").write_text(text)
        (self.folder / "topology.conf").write_text(topology(len(self.nodes)))

    def _wait_until(self, is_true: Callable[[], bool], what: str, seconds: float = 60) -> None:
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            if is_true():
                return
            time.sleep(0.1)
        paths = (self.folder / "holder.log", *(self.folder / "log").iterdir())
        logs = "\n".join(path.read_text(errors="replace")[-1000:] for path in paths)
        what = f"waited {seconds:g} s for {what} of a Slurm on this host; its logs end so:\n{logs}"
        raise LaunchError(what, "try again")


def fabric_text(cores: int, nodes: int = NODES) -> str:
    """The fabric file of a Slurm of ``nodes`` nodes with ``cores`` cores each."""
    return FABRIC.format(cores=cores, nodes=nodes, last=nodes - 1, memory=node_mib(nodes))


def node_mib(nodes: int = NODES) -> int:
    """Memory of each node in MiB: its share of half of this host's."""
    return max(1, os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 2**21 // nodes)


def session(command: Sequence[str], fabric: Path, say: Callable[[str], None], nodes: int = NODES) -> int:
    """Run a command or a shell inside a Slurm; its exit code. LaunchError without Slurm or right, FabricError."""
    if not 2 <= nodes <= MOST_NODES:
        raise FabricError(f"--nodes {nodes}: a Slurm on one host has 2 to {MOST_NODES} nodes", "--nodes 64")
    reason, _, remedy = why_not().partition(" -> ")
    if reason:
        raise LaunchError(f"no Slurm can be started here: {reason}", remedy)
    if fabric.exists():
        raise LaunchError(f"{fabric} is there already", "remove it, or name another file: --output OTHER.toml")
    folder = Path(tempfile.mkdtemp(prefix="wslurm"))  # short: sockets lie in it
    cores = max(1, cores_here().physical // nodes)  # its share of this host's
    text = fabric_text(cores, nodes)
    try:
        with RootlessSlurm(folder, cores, nodes) as slurm:
            with file_errors(fabric):
                fabric.write_text(text, encoding="utf-8")
            say(f"a Slurm of {nodes} nodes is up on this host, described by {fabric}; it ends with this command")
            if not command:
                say(f"next: weft run contention --quick --on {fabric}   (also: sinfo, squeue, sbatch; exit ends it)")
            inside = slurm.inside("env", f"--chdir={Path.cwd()}", *(command or (os.environ.get("SHELL", "sh"),)))
            sys.stdout.flush()
            return subprocess.run(inside, env=slurm.environment(), check=False).returncode
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        if fabric.is_file() and fabric.read_text(encoding="utf-8") == text:
            fabric.unlink()
