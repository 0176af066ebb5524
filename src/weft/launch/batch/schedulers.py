# SPDX-License-Identifier: BSD-3-Clause
"""All batch schedulers by kind of fabric: the only table to which a new scheduler is added."""

from collections.abc import Callable

from weft.launch.batch.flux import Flux
from weft.launch.batch.lsf import Lsf
from weft.launch.batch.pbs import Pbs
from weft.launch.batch.scheduler import Scheduler
from weft.launch.batch.slurm import Slurm

SCHEDULERS: dict[str, Callable[[], Scheduler]] = {"slurm": Slurm, "pbs": Pbs, "lsf": Lsf, "flux": Flux}
