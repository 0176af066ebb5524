# SPDX-License-Identifier: BSD-3-Clause
"""The protocol of launchers, which start ranks; nothing above it knows how or where they run."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from weft.plan.records import LaunchCell
from weft.plan.wire import Rules

BLOCK = "block"
CYCLIC = "cyclic"


@dataclass(frozen=True)
class LaunchRequest:
    """One start of the ranks: everything that a launcher needs."""

    id: str
    ranks: int
    nodes: tuple[str, ...]
    ranks_per_node: int
    order: str  # ``block``: consecutive ranks share a host; ``cyclic``: they are dealt to the hosts in turn
    oversubscribed: bool
    plan: Path
    folder: Path
    # seconds after which a launcher ends the ranks by force; above the kernel's own watchdog. 0 means never.
    limit_s: float
    environment: dict[str, str] = field(default_factory=dict[str, str])
    cells: tuple[LaunchCell, ...] = ()
    expected_s: float = 0.0  # how long the launch takes by its plan; 0 where nothing is known

    def file(self, ending: str) -> Path:
        """A file of the launch in its run folder."""
        return self.folder / "launches" / f"{self.id}.{ending}"

    @property
    def log(self) -> Path:
        """File for stdout and stderr of the launch."""
        return self.file("log")


@dataclass(frozen=True)
class Outcome:
    """How a launch ended."""

    id: str
    returncode: int
    wall_s: float  # seconds from start to end, ``mpiexec`` included
    timed_out: bool
    log: Path
    refused: str = ""
    limit: str = ""  # which limit of the launcher's own ended it, in words; empty where it was the cell's
    processor_s: float = 0.0  # seconds of processor time that all its processes took; 0 where they are not counted
    # whether it had ended before the launcher was asked for it: in a job that an earlier weft left in the queue. What
    # its ranks wrote is then older than the request, and holds all the same.
    before: bool = False


class Launcher(Protocol):
    """Starts ranks on one kind of fabric."""

    @property
    def rules(self) -> Rules:
        """How its ranks take and write samples; the plans of its requests follow these rules."""
        ...

    def provenance(self) -> dict[str, Any]:
        """Library, wrapper, ``mpiexec`` and kernels as JSON; runs resume under the same ``mpi_library`` only."""
        ...

    def run(self, requests: Sequence[LaunchRequest]) -> Iterator[Outcome]:
        """Start each request in turn, yield its outcome; closing the iterator or an interrupt leaves no process."""
        ...
