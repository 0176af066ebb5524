# SPDX-License-Identifier: BSD-3-Clause
"""The verb ``weft exec``."""

import sys
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from weft.errors import StudyError


def execute(
    *command: Annotated[str, Parameter(allow_leading_hyphen=True)],
    force: str = "",
    table: Path | None = None,
    report: Path | None = None,
    verify: int = 0,
    prewarm: bool = False,
    mpicxx: str | None = None,
) -> int:
    """Run an application with Weft's all-to-all instead of its MPI library's, without recompiling it; its exit code.

    weft exec --force "node.multi{nl=4}" -- mpirun -n 64 ./application

    Parameters
    ----------
    command
        The starter and its arguments, after "--".
    force
        Algorithm for every MPI_Alltoall and MPI_Alltoallv: pmpi (the library's own), flat.window{w=8}, flat.pairwise,
        bruck{r=2}, node.multi{nl=4}, node.direct{w=64}, node.bruck{r=2}, sched{file=PATH} or
        sched.matrix{w=8}.
    table
        Selection table: the algorithm by operation, nodes, ranks and size.
    report
        File for a report of all calls: sizes, algorithms and times.
    verify
        Repeat every nth call with the MPI library, and fail if the results differ.
    prewarm
        Connect all pairs of ranks in MPI_Init.
    mpicxx
        C++ compiler wrapper of the application's MPI; the one beside the starter by default.

    Raises
    ------
    StudyError
        There is no command.
    """
    from weft.launch.interposer import INTERPOSER, Settings, mpi_of, preloaded, wait_for
    from weft.launch.preload import Marks, build_preload, bypassed, preload_value

    if not command:
        raise StudyError("weft exec has no command", "weft exec -- mpirun -n 4 ./application")
    variables = Settings(force, table, report, verify, prewarm).variables()
    mpi = mpi_of(command, mpicxx)
    library = build_preload(INTERPOSER, mpi, lambda line: print(line, file=sys.stderr))
    marks = Marks.new()
    variables |= {"LD_PRELOAD": preload_value(library, hands_on=False), "LIBWEFT_MARKS": str(marks.path)}
    sys.stdout.flush()
    code, _ = wait_for(preloaded(command, variables, mpi.described()))
    if warning := bypassed(INTERPOSER.file, *marks.take()):
        sys.stderr.write(f"weft: {warning}\n")
    return code
