# SPDX-License-Identifier: BSD-3-Clause
"""The Python package ``otf2``, which brings the format's own library; its errors as Weft's."""

from collections.abc import Generator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import Any

from weft.errors import DataError
from weft.extras import pip_install

COLLECTIVE_OPS: dict[str, str] = {
    name: name.upper()
    for name in (
        "Barrier", "Bcast", "Gather", "Gatherv", "Scatter", "Scatterv", "Allgather", "Allgatherv", "Alltoall",
        "Alltoallv", "Alltoallw", "Allreduce", "Reduce", "Reduce_scatter", "Reduce_scatter_block", "Scan", "Exscan",
    )
}  # fmt: skip
"""Name of the format's collective operation for each collective call, without ``MPI_``."""
STARTED_OPS = {f"I{name.lower()}": op for name, op in COLLECTIVE_OPS.items()}
NO_ROOT = 0xFFFFFFFF  # the root of an operation without one


def otf2() -> Any:
    """The package. Raises DataError: It is not installed."""
    try:
        return import_module("otf2")
    except (ImportError, OSError) as error:
        raise DataError(
            f"reading and writing OTF2 takes the Python package otf2, and there is none ({error})", pip_install("otf2")
        ) from error


@contextmanager
def as_data_errors(path: Path, doing: str, remedy: str) -> Generator[None, None, None]:
    """Errors of the package, whatever its Python meets in torn or foreign files, as DataError."""
    try:
        yield
    except DataError:
        raise
    except Exception as error:
        said = str(error).strip().splitlines()
        raise DataError(f"{path}: {doing}: {said[0] if said else type(error).__name__}", remedy) from error
