# SPDX-License-Identifier: BSD-3-Clause
"""The verb ``init``."""

import sys
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter


def init(
    scheduler: str = "",
    /,
    *,
    output: Annotated[Path | None, Parameter(name=("--output", "-o"))] = None,
    force: bool = False,
) -> None:
    """Write an annotated fabric file of this cluster, from what its scheduler and adapters say.

    Values that could not be found are comments with an example. Nothing is submitted.

    Parameters
    ----------
    scheduler
        slurm, pbs, lsf or flux; by default the one whose commands are on PATH.
    output
        The file to write, mycluster.toml; by default it is printed.
    force
        Replace the file if there is one.

    Raises
    ------
    FabricError
        The file is there already, or the scheduler names no node.
    LaunchError
        The scheduler's commands are not on PATH, or do not answer.
    """
    from weft.errors import FabricError
    from weft.files.atomic import file_errors, write_atomic
    from weft.launch.site import site_text

    if output is not None and output.exists() and not force:
        raise FabricError(f"{output} is there already", "give another name, or --force to replace it")
    text = site_text(scheduler)
    if output is None:
        sys.stdout.write(text)
        return
    with file_errors(output):
        write_atomic(output, text.encode())
    sys.stdout.write(f"wrote {output}\nnext: weft fabric check {output}; weft doctor --on {output}\n")
