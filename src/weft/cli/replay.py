# SPDX-License-Identifier: BSD-3-Clause
"""The verb ``replay``."""

import sys
from pathlib import Path


def replay(
    trace: Path,
    /,
    *,
    on: tuple[str, ...] = ("local",),
    into: Path | None = None,
    nodes: int | None = None,
    place: str = "compact",
    compute: str = "x1",
    alltoall: str = "default",
    mpicxx: str | None = None,
) -> int:
    """Play the calls of a traced application again on any fabric, simulated or not; the replay is a run like others.

    The same messages and collective calls, on communicators of the same members, after the same time between calls.
    Non-blocking collectives block where they start; one-sided calls and communicator creation are left out.
    Exit codes are those of weft run.

    Parameters
    ----------
    trace
        The folder of weft trace.
    on
        A fabric file, or the name of a shipped one. Given several times: one run on each, then a page on all.
    into
        The run folder; by default one under runs/.
    nodes
        Number of nodes, which share the ranks equally; by default as few as have a core for each rank.
    place
        Which nodes: a node set, "compact" or "best" (see weft place).
    compute
        Time between calls, as a multiple of the traced one: x0.5 for processors of twice the speed.
    alltoall
        What makes all-to-alls: default (the library's own), or one of Weft's, such as "node.multi{nl=4}".
    mpicxx
        C++ compiler wrapper of the MPI to measure; by default the one on PATH.

    Raises
    ------
    StudyError
        --compute is no multiple, --nodes no number of nodes, or a fabric has no room.
    """
    from weft.cli.run import run
    from weft.fabric import load_fabric
    from weft.trace.replay import Asked, factor_of, introduction, prepare

    factor = factor_of(compute, nodes)
    study, made = prepare(trace, [load_fabric(each) for each in on], Asked(nodes, factor, place, alltoall))
    sys.stdout.write("\n".join(introduction(made)) + "\n")
    return run(str(study), on=on, into=into, mpicxx=mpicxx)
