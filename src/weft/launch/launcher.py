# SPDX-License-Identifier: BSD-3-Clause
"""What starts ranks: one small protocol that every kind of fabric fulfils.

Nothing above this protocol knows whether ranks run on this host, in a batch job, in namespaces or in a simulator.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

BLOCK = "block"
CYCLIC = "cyclic"


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
        The flat plan that the kernel reads.
    folder
        The run folder.
    limit_s
        Seconds after which a launcher ends the ranks by force; above the kernel's own watchdog. 0 means never.
    environment
        Variables set for the ranks on top of the user's own.
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

    def provenance(self) -> dict[str, Any]:
        """Describe what starts the ranks: library, wrapper, ``mpiexec``, kernels. JSON values only.

        Two keys are read again: a run is gone on with only under the same ``mpi_library``, and ``io`` (``mpi`` when it
        is not there) says how the kernels write: ``posix`` where there is no MPI-IO.
        """
        ...

    def run(self, requests: Sequence[LaunchRequest]) -> Iterator[Outcome]:
        """Start each request in turn and yield its outcome, in order.

        Requests never overlap. Closing the iterator, or an interrupt, ends what runs and leaves no process behind.
        """
        ...
