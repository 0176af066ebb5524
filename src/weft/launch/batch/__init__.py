# SPDX-License-Identifier: BSD-3-Clause
"""Launches inside jobs of a batch scheduler: one readable script for many launches, one adapter per scheduler."""

from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from weft.fabric import Fabric
    from weft.launch.batch.launcher import BatchLauncher


def make_launcher(fabric: "Fabric", mpicxx: str | None, say: Callable[[str], None]) -> "BatchLauncher":
    """Return the launcher that uses jobs of the fabric's scheduler; LaunchError without its commands or kernels."""
    from weft.fabric.batch import BatchSection
    from weft.launch.batch.launcher import BatchLauncher
    from weft.launch.batch.scheduler import refuse_missing
    from weft.launch.batch.schedulers import SCHEDULERS
    from weft.launch.batch.script import RankStarter
    from weft.launch.build import build_kernels
    from weft.mpi.library import find_mpi

    scheduler = SCHEDULERS[fabric.kind]()
    section = (fabric.batch or BatchSection.model_validate({})).model_copy(update={"starter": fabric.starter})
    refuse_missing(scheduler)
    starter = RankStarter(build_kernels(find_mpi(mpicxx), say), scheduler, section)
    rate = fabric.network.adapter_rate if fabric.network else None
    return BatchLauncher(scheduler, section, f"weft-{fabric.name}", starter, starter.about(), say, rate or 0.0)
