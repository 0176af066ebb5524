# SPDX-License-Identifier: BSD-3-Clause
"""Real ranks of real MPIs, started by the real command line."""

import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from real_weft import AS_SHIPPED, STUDY, Weft, build_with

from weft.errors import LaunchError
from weft.launch.build import Kernels, build_kernels
from weft.mpi.library import find_mpi


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Everything in this folder starts ranks."""
    for item in items:
        if Path(__file__).parent in item.path.parents:
            item.add_marker(pytest.mark.mpi)


@pytest.fixture(scope="session")
def kernels() -> Kernels:
    """Kernels of the MPI that a user would get here, with faults to plant."""
    try:
        return build_kernels(find_mpi())
    except LaunchError as error:
        pytest.skip(f"no MPI to start ranks with: {error}")


@pytest.fixture
def shipped(kernels: Kernels) -> Kernels:
    """Kernels as users have them, for the MPI of `kernels`: those plant no faults."""
    return build_with(kernels.mpi.wrapper, AS_SHIPPED["CXXFLAGS"])


@pytest.fixture
def short() -> Iterator[Path]:
    """A short TMPDIR, as session folders need it."""
    with tempfile.TemporaryDirectory(prefix="wt", dir="/tmp") as name:
        yield Path(name)


@pytest.fixture
def make(tmp_path: Path, kernels: Kernels, short: Path) -> Callable[..., Weft]:
    """Make a command for a study of two cells in so many launches."""

    def made(launches: int = 2, limit: str = "20 s", text: str = STUDY, **environment: str) -> Weft:
        study = tmp_path / "small.toml"
        study.write_text(text.format(launches=launches, limit=limit))
        return Weft(study, tmp_path / "run", kernels.mpi.wrapper, short, environment)

    return made
