# SPDX-License-Identifier: BSD-3-Clause
"""All kernels, by name; a new kernel is entered here."""

from collections.abc import Collection

from weft.errors import DataError
from weft.kernel import Kernel
from weft.kernel.bandwidth import Bandwidth
from weft.kernel.collective import Collective
from weft.kernel.exchange import Exchange
from weft.kernel.floor import Floor
from weft.kernel.interference import Interference
from weft.kernel.pairs import Pairs
from weft.kernel.probe import Probe
from weft.kernel.replay import Replay
from weft.study import Study

KERNELS: dict[str, Kernel] = {
    kernel.name: kernel
    for kernel in (Exchange(), Pairs(), Bandwidth(), Collective(), Interference(), Probe(), Replay())
}
"""Kernels that a study can name."""
FLOOR = Floor()  # the built-in kernel that each run measures once for each placement, as the reference of other times


def kernel_named(name: str) -> Kernel:
    """The kernel with a name, the built-in one included. Raises DataError: this version of Weft has no such kernel."""
    if name == FLOOR.name:
        return FLOOR
    if name in KERNELS:
        return KERNELS[name]
    what = f"this Weft has no kernel {name!r} (it has {', '.join(KERNELS)})"
    raise DataError(what, "read the run with the version of Weft that made it: its weft.json names it")


def program_of(study: Study) -> str:
    """The native program that a study needs (:meth:`Kernel.program`)."""
    return KERNELS[study.kernel].program(study)


def main_call(kernel: str, calls: Collection[str]) -> str:
    """The kernel's main call, or the last one measured if the run has not measured it."""
    main = kernel_named(kernel).main
    return main if main in calls or not calls else max(calls)
