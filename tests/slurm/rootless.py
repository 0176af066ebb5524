# SPDX-License-Identifier: BSD-3-Clause
"""A real Slurm of four virtual nodes for the tests: munged, slurmctld and slurmd's in namespaces of their own.

Everything runs below one holder process in a PID and network namespace: when its standard input closes, the holder
ends and the kernel ends the rest, job steps included. A user's commands (sbatch, ``weft run``) go in by ``nsenter``.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import time
from pathlib import Path
from typing import Self

NODES = 4
CORES = 4
PORT = 17000
NEEDS = ("munged", "slurmctld", "slurmd", "sbatch", "unshare", "nsenter")
PATH = f"{os.environ['PATH']}:/usr/sbin:/sbin"

# AuthInfo and the daemons' sockets lie in the folder; TmpFS per node, because srun --mpi=pmix puts one socket name
# per job there and the second slurmd would find it taken. The address on lo beside 127.0.0.1 is for glibc's
# AI_ADDRCONFIG, which resolves nothing on a host that has only loopback addresses.
CONFIGURATION = """\
ClusterName=virtual
SlurmctldHost={host}(127.0.0.1)
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket={folder}/munge.sock
CryptoType=crypto/munge
SlurmctldPort={port}
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool/%n
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd-%n.pid
SlurmctldLogFile={folder}/log/slurmctld.log
SlurmdLogFile={folder}/log/slurmd-%n.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
MpiDefault=none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
SlurmdParameters=config_overrides
TmpFS={folder}/tmp/%n
TopologyPlugin=topology/tree
ReturnToService=2
KillWait=2
AccountingStorageType=accounting_storage/none
JobAcctGatherType=jobacct_gather/none
SchedulerParameters=bf_interval=1,sched_interval=1
NodeName=n[0-{last}] NodeHostname={host} NodeAddr=127.0.0.1 Port=[{first_port}-{last_port}] CPUs={cores} RealMemory=4000
PartitionName=batch Nodes=ALL Default=YES MaxTime=60 State=UP
"""

TOPOLOGY = "SwitchName=leaf0 Nodes=n[0-1]\nSwitchName=leaf1 Nodes=n[2-3]\nSwitchName=spine Switches=leaf[0-1]\n"

HOLDER = """\
set -e
ip link set lo up
ip addr add 10.78.0.1/32 dev lo
munged --force --key-file=$D/munge.key --socket=$D/munge.sock --pid-file=$D/munged.pid --log-file=$D/log/munged.log \
    --seed-file=$D/munge.seed
slurmctld -c
for node in {nodes}; do slurmd -N $node; done
touch $D/ready
cat > /dev/null
"""


def why_not() -> str:
    """The reason why no Slurm can be had here, or an empty string."""
    missing = [name for name in NEEDS if shutil.which(name, path=PATH) is None]
    if missing:
        return f"{', '.join(missing)} missing -> apt install slurm-wlm munge util-linux"
    if os.geteuid() != 0:
        return "slurmd drops its groups, which an unprivileged user namespace forbids -> run the tests as root"
    return ""


class RootlessSlurm:
    """A Slurm that lives as long as the ``with`` block.

    Parameters
    ----------
    folder
        An empty folder with a short path (sockets lie in it).
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.nodes = [f"n{i}" for i in range(NODES)]
        self._holder: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Self:
        self._write_configuration()
        command = ["unshare", "--net", "--mount", "--pid", "--fork", "--mount-proc", "--kill-child", "bash", "-c"]
        script = HOLDER.replace("{nodes}", " ".join(self.nodes))
        log = (self.folder / "holder.log").open("wb")
        self._holder = subprocess.Popen(
            [*command, script], stdin=subprocess.PIPE, stdout=log, stderr=log, env=self.environment()
        )
        self._wait_until(lambda: (self.folder / "ready").exists(), "the daemons to start")
        self._wait_until(
            lambda: self.run("sinfo", "-h", "-t", "idle", "-o", "%D").stdout.strip() == str(NODES), "idle nodes"
        )
        return self

    def __exit__(self, *_: object) -> None:
        assert self._holder is not None
        assert self._holder.stdin is not None
        self._holder.stdin.close()
        self._holder.wait(timeout=20)

    def environment(self) -> dict[str, str]:
        """The environment in which Slurm's commands find this Slurm."""
        return {**os.environ, "SLURM_CONF": str(self.folder / "slurm.conf"), "D": str(self.folder), "PATH": PATH}

    def inside(self, *command: str) -> list[str]:
        """The command line that runs `command` inside the cluster's namespaces."""
        assert self._holder is not None
        children = Path(f"/proc/{self._holder.pid}/task/{self._holder.pid}/children").read_text().split()
        return ["nsenter", "--target", children[0], "--net", "--mount", "--pid", *command]

    def run(self, *command: str, timeout: float = 60) -> subprocess.CompletedProcess[str]:
        """Run a user's command inside, and return it with its output."""
        return subprocess.run(
            self.inside(*command), env=self.environment(), capture_output=True, text=True, timeout=timeout, check=False
        )

    def _write_configuration(self) -> None:
        for part in ("state", "log", *(f"{kind}/{node}" for kind in ("tmp", "spool") for node in self.nodes)):
            (self.folder / part).mkdir(parents=True)
        key = self.folder / "munge.key"
        key.write_bytes(os.urandom(1024))
        key.chmod(0o400)
        self.folder.chmod(0o755)
        text = CONFIGURATION.format(
            host=os.uname().nodename, folder=self.folder, port=PORT, last=NODES - 1, first_port=PORT + 1,
            last_port=PORT + NODES, cores=CORES,
        )  # fmt: skip
        (self.folder / "slurm.conf").write_text(text)
        (self.folder / "topology.conf").write_text(TOPOLOGY)

    def _wait_until(self, is_true: object, what: str, seconds: float = 20) -> None:
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            if is_true():  # type: ignore[operator]
                return
            time.sleep(0.1)
        logs = "\n".join(
            p.read_text(errors="replace")[-1000:]
            for p in (self.folder / "holder.log", *(self.folder / "log").iterdir())
        )
        raise TimeoutError(f"waited {seconds} s for {what}\n{logs}")
