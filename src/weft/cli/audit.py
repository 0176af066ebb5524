# SPDX-License-Identifier: BSD-3-Clause
"""The verb ``audit``."""

from pathlib import Path
from typing import Literal


def audit(
    *,
    on: str = "local",
    nodes: str = "",
    time: str = "90s",
    ranks_per_node: str = "cores",
    format: Literal["text", "json"] = "text",
    into: Path | None = None,
    mpicxx: str | None = None,
) -> int:
    """Check whether collectives of the MPI library are slower than other calls that do the same.

    Each collective is measured in turns with its mock-ups (MPI_Scatter and MPI_Allgather for MPI_Bcast, and so on),
    with the call at half and twice the size, and on half of the ranks.

    Exit code 0: no performance guideline is violated; 3: some is; 1: could not tell, or the ranks did not start; 2: a
    mistake in the arguments.

    Parameters
    ----------
    on
        A fabric file, or the name of a shipped one.
    nodes
        The nodes: n[1-2]; by default the first two.
    time
        Time of the whole audit: 90s. Launches that would end later are left out, after the six that a verdict
        needs (in twice the time at most), and so are large messages on slow networks; the answer names them. Where
        Weft submits, or inside salloc, all launches are measured, in whatever time.
    ranks_per_node
        Ranks of each node: a number, or cores.
    format
        text, or json (weft-show/1, with the same claims).
    into
        The run folder; by default a new one under runs/.
    mpicxx
        C++ compiler wrapper of the MPI to audit; by default the one on PATH.
    """
    from weft.fabric import load_fabric
    from weft.launch import launcher_for
    from weft.run.audit import audit_study, run_audit
    from weft.run.check import exit_code, print_check
    from weft.run.progress import for_terminal
    from weft.units import parse_seconds

    progress = for_terminal()
    fabric = load_fabric(on)
    study = audit_study(fabric, nodes, time, ranks_per_node)
    folder = run_audit(study, fabric, launcher_for(fabric, mpicxx, progress.say), progress, into, parse_seconds(time))
    print_check(folder, format)
    return exit_code(folder)
