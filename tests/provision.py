# SPDX-License-Identifier: BSD-3-Clause
"""System packages the tests need: installed by apt where we are root, else named with the tests they leave out.

Standard library only: this runs before there is a virtual environment.
"""

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple


class Package(NamedTuple):
    """A Debian package, how to see that it is there, and what is left out without it."""

    name: str
    proof: str
    left_out: str


PACKAGES = (
    Package("g++", "g++", "everything: the kernels are C++"),
    Package("python3-venv", "python:ensurepip", "everything: the tests live in a virtual environment"),
    Package("doctest-dev", "/usr/include/doctest/doctest.h", "native tests"),
    Package("libopenmpi-dev", "/usr/bin/mpicxx", "tests under Debian's Open MPI 4.1"),
    Package("openmpi-bin", "/usr/bin/mpiexec", "tests under Debian's Open MPI 4.1"),
    Package("chromium", "chromium", "tests/report: the report opened in a browser"),
    Package("fonts-dejavu-core", "/usr/share/fonts/truetype/dejavu", "tests/report: legible screenshots"),
    Package("iproute2", "ip", "tests/virtual: a cluster of namespaces"),
    Package("util-linux", "unshare", "tests/virtual: a cluster of namespaces"),
    Package("procps", "sysctl", "tests/virtual: a cluster of namespaces"),
    Package("hostname", "hostname", "tests/virtual: a cluster of namespaces"),
    Package("tcpdump", "tcpdump", "tests/virtual: packet capture"),
    Package("libsimgrid-dev", "smpicxx", "tests/simulated: the simulated fabrics"),
    Package("slurm-wlm", "slurmctld", "tests/slurm: a rootless Slurm"),
    Package("munge", "munged", "tests/slurm: a rootless Slurm"),
)


def is_present(package: Package) -> bool:
    """Whether what the package brings can be found."""
    if package.proof.startswith("python:"):
        module = package.proof.removeprefix("python:")
        tried = subprocess.run([sys.executable, "-c", f"import {module}"], capture_output=True, check=False)
        return tried.returncode == 0
    if package.proof.startswith("/"):
        return Path(package.proof).exists()
    return shutil.which(package.proof, path=os.environ.get("PATH", "") + ":/usr/sbin:/sbin") is not None


def install(names: list[str]) -> None:
    """Install Debian packages without asking and without recommendations."""
    environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    subprocess.run(["apt-get", "update", "-q"], check=True, stdout=subprocess.DEVNULL)
    command = ["apt-get", "install", "-q", "-y", "--no-install-recommends", *names]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, env=environment)


def main() -> int:
    """Install or name what is missing; fail only where nothing at all can be tested."""
    missing = [package for package in PACKAGES if not is_present(package)]
    if not missing:
        return 0
    names = [package.name for package in missing]
    if os.geteuid() == 0 and shutil.which("apt-get"):
        print("installing for the tests:", " ".join(names), flush=True)
        install(names)
        missing = [package for package in missing if not is_present(package)]
    for package in missing:
        print(f"missing: {package.name:18} leaves out {package.left_out}")
    if missing:
        print("to run these as well: apt install " + " ".join(package.name for package in missing))
    return 2 if any(package.left_out.startswith("everything") for package in missing) else 0


if __name__ == "__main__":
    sys.exit(main())
