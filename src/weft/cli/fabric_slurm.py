# SPDX-License-Identifier: BSD-3-Clause
"""``weft fabric slurm-here``: a real Slurm on this host, to try things."""

from pathlib import Path
from typing import Annotated

from cyclopts import App, Parameter


def add_verbs(app: App) -> None:
    """Add ``slurm-here`` to ``weft fabric``."""
    app.command(slurm_here, name="slurm-here")


def slurm_here(
    *command: Annotated[str, Parameter(allow_leading_hyphen=True)],
    output: Annotated[Path, Parameter(name=("--output", "-o"))] = Path("slurm-here.toml"),
) -> int:
    """Start a real Slurm of four nodes on this host, run a command or a shell in it, and end it.

    Nothing is left: processes, folders and the fabric file end with the command; runs are kept. Needs root.

    Parameters
    ----------
    command
        The command and its arguments, weft run contention --on slurm-here.toml; a shell by default.
    output
        The fabric file to write; goes before the command.
    """
    import sys

    from weft.launch.slurm_here import session

    return session(command, output, lambda line: print(line, file=sys.stderr, flush=True))
