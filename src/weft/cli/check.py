# SPDX-License-Identifier: BSD-3-Clause
"""The verb ``check``."""

import sys
from pathlib import Path
from typing import Literal


def check(
    *,
    on: str = "",
    nodes: str = "",
    time: str = "30s",
    ranks_per_node: str = "1",
    format: Literal["text", "json"] = "text",
    exclude_file: Path | None = None,
    into: Path | None = None,
    mpicxx: str | None = None,
    build: bool = False,
) -> int:
    """Check whether every node, cable and switch is as fast as its peers, in a few rounds of disjoint pairs.

    A second pass of a few rounds decides about what the first finds. Each check is a run: weft show prints it again,
    weft compare --trend runs/check-on-* its history.

    Exit code 0: healthy; 3: a part is slow; 1: could not tell, or the ranks did not start; 2: a mistake in the
    arguments.

    Parameters
    ----------
    on
        A fabric file, or the name of a shipped one; by default the cluster whose scheduler is here.
    nodes
        The nodes to check: n[1-64]; by default those of the Slurm allocation that weft was started in, or all.
    time
        Time of the whole check: 30s.
    ranks_per_node
        Ranks of each node: a number, socket or adapter (one rank for each).
    format
        text, or json (weft-show/1, with the same claims).
    exclude_file
        Write the names of slow nodes to this file, one a line: empty if no node is slow, removed if the check could
        not tell.
    into
        The run folder; by default a new one under runs/.
    mpicxx
        C++ compiler wrapper of the MPI to check with; by default the one on PATH.
    build
        Only compile the kernels for this fabric's MPI, so that later checks start at once.
    """
    from weft.fabric import load_fabric
    from weft.host import running_s
    from weft.launch import launcher_for
    from weft.launch.site import load_site
    from weft.run.check import Asked, exit_code, print_check, run_check
    from weft.run.progress import for_terminal

    progress = for_terminal()
    fabric = load_fabric(on) if on else load_site()
    launcher = launcher_for(fabric, mpicxx, progress.say)
    if build:
        sys.stdout.write(f"built for {launcher.provenance().get('mpi', 'this MPI')}\n")
        return 0
    asked = Asked(nodes, time, ranks_per_node)
    folder = run_check(fabric, asked, launcher, progress, into, spent_s=running_s(), exclude=exclude_file)
    print_check(folder, format)
    return exit_code(folder)
