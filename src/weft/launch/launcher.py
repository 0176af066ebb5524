# SPDX-License-Identifier: BSD-3-Clause
"""What starts ranks: one small protocol that every kind of fabric fulfils.

Nothing above this protocol knows whether ranks run on this host, in a batch job, in namespaces or in a simulator.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, Protocol

BLOCK = "block"
CYCLIC = "cyclic"


@dataclass(frozen=True)
class LaunchCell:
    """A cell that a launch measures.

    Parameters
    ----------
    id
        ``c000``.
    kernel, parameters
        What it measures: the kernel's name, and its own values (:mod:`weft.kernel`).
    ranks
        Number of ranks that measure it; the launch may have more.
    hash
        What its record must repeat; empty where nobody compares.
    limit_s
        A cell that runs longer is hung; 0 means never.
    """

    id: str
    kernel: str
    parameters: Mapping[str, Any]
    ranks: int
    hash: str = ""
    limit_s: float = 0.0


@dataclass(frozen=True)
class Rules:
    """How the ranks of a launcher take and write samples, where not as the study says. None leaves it to the study.

    Parameters
    ----------
    io
        ``posix`` where there is no MPI-IO.
    start
        How the ranks begin an operation together.
    samples
        Exactly so many samples of each operation, without warm-up.
    watchdog
        Whether a cell that runs over its limit is ended.
    """

    io: Literal["mpi", "posix"] | None = None
    start: Literal["barrier", "mpi-barrier", "window"] | None = None
    samples: int | None = None
    watchdog: bool = True


@dataclass(frozen=True)
class LaunchRequest:
    """One start of the ranks: all that a launcher needs to know of it.

    Parameters
    ----------
    id
        Name of the launch, e.g. ``c003.l1``; also the stem of its files in ``launches/``.
    ranks
        Number of ranks.
    nodes
        Host names in the order in which they are filled.
    ranks_per_node
        Ranks on each host; ``ranks`` need not be a multiple of it on the last one.
    order
        ``block``: consecutive ranks share a host; ``cyclic``: they go round the hosts.
    oversubscribed
        More ranks than cores: the ranks are not bound and yield while they wait.
    plan
        The flat plan that the kernel reads; a launcher passes on its path and never reads it.
    folder
        The run folder.
    limit_s
        Seconds after which a launcher ends the ranks by force; above the kernel's own watchdog. 0 means never.
    environment
        Variables set for the ranks on top of the user's own.
    cells
        What the plan asks for, in the order of the plan.
    """

    id: str
    ranks: int
    nodes: tuple[str, ...]
    ranks_per_node: int
    order: str
    oversubscribed: bool
    plan: Path
    folder: Path
    limit_s: float
    environment: dict[str, str] = field(default_factory=dict[str, str])
    cells: tuple[LaunchCell, ...] = ()

    @property
    def log(self) -> Path:
        """Where stdout and stderr of the launch go."""
        return self.folder / "launches" / f"{self.id}.log"


@dataclass(frozen=True)
class Outcome:
    """How a launch ended.

    Parameters
    ----------
    id
        The request's name.
    returncode
        Exit code of the launch; negative is the signal that ended it.
    wall_s
        Seconds from start to end, ``mpiexec`` included.
    timed_out
        The launcher ended it because ``limit_s`` had passed.
    log
        Its stdout and stderr.
    refused
        Why the launcher did not start it at all, and will not: the bounds of its cells are all that can be had. Only a
        simulator refuses.
    """

    id: str
    returncode: int
    wall_s: float
    timed_out: bool
    log: Path
    refused: str = ""


class Launcher(Protocol):
    """Starts ranks somewhere."""

    @property
    def rules(self) -> Rules:
        """How its ranks take and write samples; the plans of its requests follow them."""
        ...

    def provenance(self) -> dict[str, Any]:
        """Describe what starts the ranks: library, wrapper, ``mpiexec``, kernels. JSON values only.

        One key is read again: a run is gone on with only under the same ``mpi_library``.
        """
        ...

    def run(self, requests: Sequence[LaunchRequest]) -> Iterator[Outcome]:
        """Start each request in turn and yield its outcome, in order.

        Requests never overlap. Closing the iterator, or an interrupt, ends what runs and leaves no process behind.
        """
        ...
