# SPDX-License-Identifier: BSD-3-Clause
"""Simulated ranks: the same kernels under SimGrid's SMPI, on a machine that is only described."""

from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from weft.fabric.model import Fabric
    from weft.launch.simulated.launcher import SimulatedLauncher

__all__ = ["make_launcher"]


def make_launcher(fabric: "Fabric", mpicxx: str | None, say: Callable[[str], None]) -> "SimulatedLauncher":
    """Return the launcher of simulated ranks; LaunchError without SimGrid or build, FabricError for a missing value."""
    from weft.launch.simulated.launcher import SimulatedLauncher
    from weft.launch.simulated.simgrid import build_programs, find_simgrid

    return SimulatedLauncher(fabric, build_programs(find_simgrid(mpicxx), say), say)
