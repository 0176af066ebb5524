# SPDX-License-Identifier: BSD-3-Clause
"""What the tests on virtual clusters share: permission, the MPIs at hand, a program of known volume, small clusters."""

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from shlex import quote

import pytest
from clusters import HERE, ROOT, Installed, two_leaves

from weft.launch.virtual.cluster import Cluster
from weft.launch.virtual.launcher import starter_for
from weft.launch.virtual.permission import forbidden
from weft.mpi.library import Mpi

WRAPPERS = {
    "openmpi5": Path(sys.prefix) / "bin" / "mpicxx",
    "openmpi4": Path("/usr/bin/mpicxx"),
    "mpich": ROOT / ".venv-mpich" / "bin" / "mpicxx",
}
NOBODY = ["setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups"]


@pytest.fixture(scope="session")
def reason() -> str:
    """Why there can be no virtual cluster here, if so."""
    return forbidden()


@pytest.fixture(autouse=True)
def permitted(reason: str) -> None:
    """Skip by name where namespaces are forbidden."""
    if reason:
        pytest.skip(f"no virtual cluster can be brought up here: {reason}")


@pytest.fixture(scope="module")
def cluster(reason: str) -> Iterator[Cluster]:
    """Two leaves of two hosts, for all tests of a file: they compare counters before and after, and kill nothing."""
    if reason:
        pytest.skip(f"no virtual cluster can be brought up here: {reason}")
    with Cluster.start(two_leaves()) as up:
        yield up


@pytest.fixture
def own_cluster() -> Iterator[Cluster]:
    """Two leaves of two hosts, for one test that ends them or what runs there."""
    with Cluster.start(two_leaves()) as up:
        yield up


@pytest.fixture(scope="session", params=["openmpi5", "mpich", pytest.param("openmpi4", marks=pytest.mark.long)])
def installed(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Installed:
    """Each of the three MPIs in turn, with ``alltoall.cpp`` built for it where everybody may read it."""
    wrapper = WRAPPERS[request.param]
    mpi = Mpi(wrapper, "test")
    library = mpi.described() if wrapper.exists() else None
    wanted = {"openmpi5": ("Open MPI", 5), "openmpi4": ("Open MPI", 4), "mpich": ("MPICH", 0)}[request.param]
    if library is None or library.family != wanted[0] or (wanted[1] and library.major != wanted[1]):
        pytest.skip(f"{request.param} is not at {wrapper} (found: {library})")
    program = tmp_path_factory.mktemp("built") / f"alltoall-{request.param}"
    # without an rpath the loader takes another libmpi in silence
    rpath = f"-Wl,-rpath,{wrapper.parent.parent / 'lib'}"
    subprocess.run([wrapper, "-O2", HERE / "alltoall.cpp", "-o", program, rpath], check=True)
    return Installed(mpi, starter_for(library), program)


@pytest.fixture(params=["this user", "nobody"])
def as_user(request: pytest.FixtureRequest) -> list[str]:
    """Words before a command: none, and what makes it run without any privilege."""
    if request.param == "this user":
        return []
    if os.geteuid() != 0:
        pytest.skip("only root can become nobody; this user has no privileges as it is")
    if shutil.which("setpriv") is None:
        pytest.skip("setpriv is not on PATH")
    nobody = [*opening((Path(sys.base_prefix), Path(sys.prefix), ROOT)), *NOBODY]
    tried = subprocess.run([*nobody, "unshare", "--user", "--map-root-user", "true"], capture_output=True, text=True)
    if tried.returncode:
        pytest.skip(f"user namespaces are forbidden to nobody: {tried.stderr.strip()}")
    return nobody


def opening(needed: Sequence[Path]) -> list[str]:
    """Words that let everybody read folders which a closed one above them hides (CI keeps its Python under ``/root``).

    In a mount namespace of the command's own an open folder takes the place of each closed one, with nothing in it but
    what is needed. No words where nothing is hidden.
    """
    hidden: dict[Path, list[Path]] = {}
    for path in needed:
        closed = next((up for up in reversed(path.parents) if not up.stat().st_mode & 0o001), None)
        if closed is not None:
            hidden.setdefault(closed, []).append(path)
    lines = ["set -e"]
    for closed, paths in hidden.items():
        lines += ["kept=$(mktemp -d /tmp/weft-test-XXXXXX)", f"mount --bind {quote(str(closed))} $kept"]
        lines += [f"mount -t tmpfs -o mode=755 opened {quote(str(closed))}"]
        for path in paths:
            lines += [
                f"mkdir -p {quote(str(path))}",
                f"mount --bind $kept/{quote(str(path.relative_to(closed)))} {quote(str(path))}",
            ]
        lines += ["umount $kept", "rmdir $kept"]
    return ["unshare", "--mount", "sh", "-c", "\n".join([*lines, 'exec "$@"']), "sh"] if hidden else []


@pytest.fixture
def open_folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A folder that nobody may write, outside pytest's private one."""
    import tempfile

    with tempfile.TemporaryDirectory(prefix="weft-test-", dir="/tmp") as made:
        Path(made).chmod(0o777)
        yield Path(made)
