# SPDX-License-Identifier: BSD-3-Clause
"""System packages the tests need: installed by apt where we are root, else named with the tests they leave out.

Standard library only: this runs before there is a virtual environment.
"""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple


class Package(NamedTuple):
    """A Debian package (``a|b``: the first that this release has), how to see that it is there, and what it is for."""

    name: str
    proof: str
    left_out: str


PACKAGES = (
    Package("g++", "g++", "everything: the kernels are C++"),
    Package("python3-venv", "python:ensurepip", "everything: the tests live in a virtual environment"),
    Package("ccache", "ccache", "nothing, but they take some minutes longer"),
    Package("doctest-dev", "/usr/include/doctest/doctest.h", "native tests"),
    Package("libopenmpi-dev", "/usr/bin/mpicxx", "tests under Debian's Open MPI 4.1"),
    Package("openmpi-bin", "/usr/bin/mpiexec", "tests under Debian's Open MPI 4.1"),
    Package("gfortran", "gfortran", "tests/mpi: Fortran programs under the interposer"),
    # its priority among the alternatives is below Open MPI's: /usr/bin/mpicxx stays what it is
    Package("libmpich-dev", "/usr/bin/mpicxx.mpich", "tests/mpi: the interposer in MPICH's Fortran bindings"),
    Package("mpich", "/usr/bin/mpirun.mpich", "tests/mpi: the interposer in MPICH's Fortran bindings"),
    Package("hpcc", "hpcc", "tests/mpi: HPCC under every all-to-all"),
    Package("quantum-espresso", "pw.x", "tests/mpi: Quantum ESPRESSO under every all-to-all"),
    Package(
        "quantum-espresso-data", "/usr/share/espresso/pseudo", "tests/mpi: Quantum ESPRESSO under every all-to-all"
    ),
    Package("chromium", "chromium", "tests/report: the report opened in a browser"),
    Package("fonts-dejavu-core", "/usr/share/fonts/truetype/dejavu", "tests/report: legible screenshots"),
    Package("iproute2", "ip", "tests/virtual: a cluster of namespaces"),
    Package("util-linux", "unshare", "tests/virtual: a cluster of namespaces"),
    Package("hostname", "hostname", "tests/virtual: a cluster of namespaces"),
    Package("tcpdump", "tcpdump", "tests/virtual: packet capture"),
    Package("libsimgrid-dev", "smpicxx", "tests/simulated: the simulated fabrics"),
    # routes as a real subnet manager makes them, on simulated fabrics: engines, their fall-backs, tables loaded again
    Package("opensm", "opensm", "tests/flow/test_opensm.py: tables of a real subnet manager"),
    Package("ibsim-utils", "ibsim", "tests/flow/test_opensm.py: the fabrics that OpenSM manages"),
    Package(
        "infiniband-diags", "saquery", "tests/flow/test_lanes.py: service levels and lanes, as an operator asks for"
    ),
    Package("slurm-wlm", "slurmctld", "tests/slurm: a rootless Slurm"),
    Package("munge", "munged", "tests/slurm: a rootless Slurm"),
    Package("environment-modules", "modulecmd", "tests/unit/test_packaging.py: the module file"),
    # the default of Ubuntu 22.04 is 11, too old for Spark 4; Debian 13 has no 17 any more, and its default is 21
    Package("openjdk-17-jre-headless|default-jre-headless", "java:17", "tests/flow: the tables made by Spark"),
)


def is_present(package: Package) -> bool:
    """Whether what the package brings can be found."""
    if package.proof.startswith("python:"):
        module = package.proof.removeprefix("python:")
        tried = subprocess.run([sys.executable, "-c", f"import {module}"], capture_output=True, check=False)
        return tried.returncode == 0
    if package.proof.startswith("java:"):
        return java_version() >= int(package.proof.removeprefix("java:"))
    if package.proof.startswith("/"):
        return Path(package.proof).exists()
    return shutil.which(package.proof, path=os.environ.get("PATH", "") + ":/usr/sbin:/sbin") is not None


def java_version() -> int:
    """17 for the Java that PySpark would start; 0 where there is none."""
    home = os.environ.get("JAVA_HOME")
    java = shutil.which(str(Path(home) / "bin" / "java") if home else "java")
    if java is None:
        return 0
    said = subprocess.run([java, "-version"], capture_output=True, text=True, check=False).stderr
    found = re.search(r'version "(\d+)', said)
    return int(found[1]) if found else 0


def of_this_release(names: str) -> str:
    """The first of ``a|b`` that apt knows; the first of all where it knows none."""
    each = names.split("|")
    shown = (subprocess.run(["apt-cache", "show", name], capture_output=True, check=False) for name in each)
    return next((name for name, done in zip(each, shown, strict=True) if done.returncode == 0), each[0])


def install(names: list[str]) -> None:
    """Install Debian packages without asking and without recommendations."""
    environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    subprocess.run(["apt-get", "update", "-q"], check=True, stdout=subprocess.DEVNULL)
    command = ["apt-get", "install", "-q", "-y", "--no-install-recommends", *map(of_this_release, names)]
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
        print(f"missing: {package.name.partition('|')[0]:18} leaves out {package.left_out}")
    if missing:
        print("to run these as well: apt install " + " ".join(package.name.partition("|")[0] for package in missing))
    return 2 if any(package.left_out.startswith("everything") for package in missing) else 0


if __name__ == "__main__":
    sys.exit(main())
