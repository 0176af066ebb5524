# SPDX-License-Identifier: BSD-3-Clause
"""A real Slurm whose nodes are the hosts of a virtual cluster: its jobs' bytes cross limited and counted links.

Unlike in ``weft.launch.slurm_here`` every node is a host of its own (name, address, /dev/shm), as on a real cluster.
The controller and munged live on the first one. All of it ends with the cluster's holder.
"""

from __future__ import annotations

import os
import subprocess
import time
from pathlib import Path
from typing import Self

from weft.launch.slurm_here import CONFIGURATION, CORES, PATH, PORT, prepare_folder
from weft.launch.virtual.cluster import Cluster
from weft.launch.virtual.wiring import address

TOPOLOGY = "SwitchName=leaf0 Nodes=node[0-1]\nSwitchName=leaf1 Nodes=node[2-3]\nSwitchName=spine Switches=leaf[0-1]\n"


class SlurmOverLinks:
    """A Slurm that lives as long as the ``with`` block, on a cluster that is up.

    Parameters
    ----------
    cluster
        Hosts node0 to node3.
    folder
        An empty folder with a short path (sockets lie in it).
    """

    def __init__(self, cluster: Cluster, folder: Path) -> None:
        self.cluster = cluster
        self.folder = folder

    def __enter__(self) -> Self:
        self._write_configuration()
        first = self.cluster.spec.hosts[0]
        names = ("key-file=munge.key", "socket=munge.sock", "pid-file=munged.pid", "log-file=log/munged.log")
        options = [f"--{name.replace('=', f'={self.folder}/')}" for name in (*names, "seed-file=munge.seed")]
        self._must(first, "munged", "--force", *options)
        self._must(first, "slurmctld", "-c")
        for host in self.cluster.spec.hosts:
            self._must(host, "slurmd")
        self._wait_until_idle()
        return self

    def __exit__(self, *_: object) -> None:
        self.cluster.sweep()

    def run(self, *command: str, timeout: float = 280) -> subprocess.CompletedProcess[str]:
        """Run a user's command on the first host, and return it with its output."""
        return subprocess.run(
            self.cluster.command(self.cluster.spec.hosts[0], command, self.folder),
            env=self._environment(),
            capture_output=True, text=True, timeout=timeout, check=False,
        )  # fmt: skip

    def _environment(self) -> dict[str, str]:
        return {**os.environ, "SLURM_CONF": str(self.folder / "slurm.conf"), "PATH": PATH}

    def _must(self, host: str, *command: str) -> None:
        # daemons keep their standard streams: a pipe would be waited for until they end
        with (self.folder / "log" / f"{command[0]}-{host}.out").open("wb") as out:
            done = subprocess.run(
                self.cluster.command(host, command, self.folder),
                env=self._environment(),
                stdin=subprocess.DEVNULL, stdout=out, stderr=out, timeout=60, check=False,
            )  # fmt: skip
        assert done.returncode == 0, self._logs()

    def _write_configuration(self) -> None:
        hosts = self.cluster.spec.hosts
        prepare_folder(self.folder, hosts)
        text = CONFIGURATION.format(
            host=hosts[0], folder=self.folder, port=PORT, last=0, first_port=0, last_port=0, cores=CORES, memory=4000
        ).replace("(127.0.0.1)", f"({address(self.cluster.spec, hosts[0])})")
        kept = [line for line in text.splitlines() if not line.startswith("NodeName=")]
        nodes = [
            f"NodeName={host} NodeAddr={address(self.cluster.spec, host)} Port={PORT + 1} CPUs={CORES} RealMemory=4000"
            for host in hosts
        ]
        (self.folder / "slurm.conf").write_text("\n".join([*nodes, *kept]) + "\n")
        (self.folder / "topology.conf").write_text(TOPOLOGY)

    def _wait_until_idle(self, seconds: float = 30) -> None:
        deadline = time.monotonic() + seconds
        wanted = str(len(self.cluster.spec.hosts))
        while self.run("sinfo", "-h", "-t", "idle", "-o", "%D").stdout.strip() != wanted:
            assert time.monotonic() < deadline, self._logs()
            time.sleep(0.2)

    def _logs(self) -> str:
        return "\n".join(path.read_text(errors="replace")[-1000:] for path in sorted((self.folder / "log").iterdir()))
