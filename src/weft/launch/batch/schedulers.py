# SPDX-License-Identifier: BSD-3-Clause
"""All batch schedulers by kind of fabric: the only table to which a new scheduler is added."""

from collections.abc import Callable, Set

from weft.launch.batch.flux import Flux
from weft.launch.batch.lsf import Lsf
from weft.launch.batch.pbs import Pbs
from weft.launch.batch.scheduler import Scheduler
from weft.launch.batch.slurm import Slurm

SCHEDULERS: dict[str, Callable[[], Scheduler]] = {"slurm": Slurm, "pbs": Pbs, "lsf": Lsf, "flux": Flux}


def allocated_nodes(kind: str, known: Set[str]) -> list[str]:
    """Those of the known nodes that the job has in which this process runs; empty outside of one.

    PBS and LSF may write a node with its domain, and LSF the node that starts the job, which computes nothing.
    """
    given = SCHEDULERS[kind]().allocated_nodes() if kind in SCHEDULERS else ()
    return [
        next(name for name in names if name in known)
        for names in ((each, each.partition(".")[0]) for each in given)
        if not known.isdisjoint(names)
    ]
