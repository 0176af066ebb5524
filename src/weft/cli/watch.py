# SPDX-License-Identifier: BSD-3-Clause
"""The verb ``watch``."""

import sys
from pathlib import Path


def watch(
    study: str,
    /,
    *,
    on: str,
    every: str = "1d",
    time: str = "5min",
    into: Path | None = None,
    mpicxx: str | None = None,
) -> int:
    """Measure a study on free nodes in turn, one night a call, and tell from which night on its times changed.

    A line of cron, or a job in a reservation, calls it; where the next night is not due it ends at once. Nights, page
    (index.html) and OpenMetrics (metrics.prom) are in one folder.

    Exit code 0: no change; 3: this night shows a change; 1: a cell failed, or the ranks did not start; 2: a mistake in
    the arguments, or too few free nodes.

    Parameters
    ----------
    study
        A study file, or the name of a shipped one (check).
    on
        A fabric file, or the name of a shipped one.
    every
        Period of the nights: 1d, 12h.
    time
        Time of one night's run.
    into
        The folder of the nights; by default runs/watch-STUDY-on-FABRIC.
    mpicxx
        C++ compiler wrapper of the MPI to measure; by default the one on PATH.
    """
    from datetime import UTC, datetime

    from weft.fabric import load_fabric
    from weft.kernel.studies import load_study
    from weft.launch import launcher_for
    from weft.report.card import print_rows
    from weft.report.compare.nights import Nights, write_nights
    from weft.run.nightly import make_watch, next_night, one_at_a_time, read_history, run_night
    from weft.run.one import exit_code, statuses
    from weft.run.progress import for_terminal
    from weft.store.folder import RunFolder
    from weft.text import console

    progress = for_terminal()
    fabric = load_fabric(on)
    found = make_watch(load_study(study), fabric, every, time, into)
    with one_at_a_time(found):
        due = next_night(found, read_history(found))
        if due is not None and datetime.now(UTC) < due:
            sys.stdout.write(f"the next night is due at {due:%Y-%m-%d %H:%M} UTC: {found.folder}\n")
            return 0
        history = run_night(found, launcher_for(fabric, mpicxx, progress.say), progress)
    hosts = fabric.hosts or history.nights[-1].hosts
    nights = Nights(history.study, history.fabric, history.nights, history.precision, hosts)
    page = write_nights(nights, found.folder)
    print_rows(nights.card(), "B", console())
    sys.stderr.write(f"wrote {page}\n")
    measured = exit_code(statuses(RunFolder(found.folder / history.nights[-1].run)))
    return 3 if nights.last_alarm else measured
