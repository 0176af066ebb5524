# SPDX-License-Identifier: BSD-3-Clause
"""The command line of one launch inside a job: with the scheduler's own starter or the MPI library's."""

from dataclasses import replace

from weft.fabric.batch import BatchSection
from weft.fabric.kinds import MPIEXEC
from weft.launch.batch.scheduler import Scheduler
from weft.launch.build import Kernels
from weft.launch.launcher import BLOCK, CYCLIC, LaunchRequest
from weft.mpi.starting import family_of


class RankStarter:
    """Makes command lines; fulfils :class:`weft.launch.batch.script.Starter`."""

    def __init__(self, kernels: Kernels, scheduler: Scheduler, section: BatchSection) -> None:
        self._kernels = kernels
        self._scheduler = scheduler
        self._section = section
        self._family = family_of(kernels.library)

    def about(self) -> dict[str, str]:
        """Describe the library and the kernels."""
        return self._kernels.about()

    def __call__(self, request: LaunchRequest) -> list[str]:
        """The command line, its variables first."""
        variables = self._family.environment(request.oversubscribed)
        if self._kernels.settings:
            variables["WEFT_DEFAULT_SETTINGS"] = str(self._kernels.settings)
        start = self._by_scheduler(request) if self._section.starter != MPIEXEC else self._by_mpiexec(request)
        assigned = [f"{name}={value}" for name, value in sorted(variables.items())]
        program = [str(self._kernels.program), str(request.plan)]
        return [*(["env", *assigned] if assigned else []), *start, *program]

    def each_node(self, request: LaunchRequest) -> list[str]:
        """Arguments before a command, not an MPI program, that run it once on each node of a request."""
        once = replace(request, ranks=len(request.nodes), ranks_per_node=1, order=BLOCK, oversubscribed=True)
        if self._section.starter != MPIEXEC:
            return self._scheduler.start_ranks(once, "none")
        across = self._family.across(once.nodes, 1, False)
        return [str(self._kernels.mpi.mpiexec()), *across, *self._family.free, "-n", str(once.ranks)]

    def _by_scheduler(self, request: LaunchRequest) -> list[str]:
        return self._scheduler.start_ranks(request, self._section.mpi)

    def _by_mpiexec(self, request: LaunchRequest) -> list[str]:
        binding = self._family.free if request.oversubscribed else self._family.pinned
        across = self._family.across(request.nodes, request.ranks_per_node, request.order == CYCLIC)
        return [str(self._kernels.mpi.mpiexec()), *across, *binding, "-n", str(request.ranks)]
