# SPDX-License-Identifier: BSD-3-Clause
"""The verb ``run``."""

import signal
import sys
from pathlib import Path
from types import FrameType


def run(study: str, /, *, on: str = "local", into: Path | None = None, mpicxx: str | None = None) -> int:
    """Measure a study on a fabric; the same command again goes on where this one stopped.

    Exit code 0: everything was measured (rows that do not fit the memory or the fabric are results); 1: some cell is
    invalid, hung, crashed or never started; 2: a mistake in the files or arguments; 130: interrupted.

    Parameters
    ----------
    study
        A study file, or the name of a shipped one (contention).
    on
        A fabric file, or the name of a shipped one (local).
    into
        The run folder; by default one under runs/, named after study and fabric.
    mpicxx
        C++ compiler wrapper of the MPI to measure; by default the one on PATH.
    """
    from weft.fabric import load_fabric
    from weft.launch import launcher_for
    from weft.progress import for_terminal
    from weft.run import exit_code, run_study, statuses
    from weft.study import load_study

    signal.signal(signal.SIGTERM, interrupted)
    what, where = load_study(study), load_fabric(on)
    progress = for_terminal()
    launcher = launcher_for(where, mpicxx, progress.say)
    try:
        folder = run_study(what, where, into, launcher, progress)
    except KeyboardInterrupt:
        sys.stderr.write("interrupted: finished cells are kept, and the same command goes on from here\n")
        return 130
    from weft.report import page, tables

    tables.show(folder.path)
    page.write([folder.path], folder.report, files_too=False)  # `weft report` writes the figures as files
    counts = statuses(folder)
    sys.stdout.write(f"cells: {', '.join(f'{number} {status}' for status, number in sorted(counts.items()))}\n")
    sys.stdout.write(f"report: {folder.report}\n")
    return exit_code(counts)


def interrupted(number: int, frame: FrameType | None) -> None:
    """Treat SIGTERM (a scheduler, a system that shuts down) like Ctrl-C: end the ranks, keep what is done."""
    raise KeyboardInterrupt
