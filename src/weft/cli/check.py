# SPDX-License-Identifier: BSD-3-Clause
"""The verbs ``check``, ``audit`` and ``watch``: what a cron job calls."""

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

    Args:
      on: A fabric file, or the name of a shipped one; by default the cluster whose scheduler is here.
      nodes: The nodes to check: n[1-64]; by default those of the Slurm allocation that weft was started in, or all.
      time: Time of the whole check: 30s.
      ranks_per_node: Ranks of each node: a number, socket or adapter (one rank for each).
      format: text, or json (weft-show/1, with the same claims).
      exclude_file:
        Write the names of slow nodes to this file, one a line: empty if no node is slow, removed if the check could
        not tell.
      into: The run folder; by default a new one under runs/.
      mpicxx: C++ compiler wrapper of the MPI to check with; by default the one on PATH.
      build: Only compile the kernels for this fabric's MPI, so that later checks start at once.
    """
    from weft.fabric import load_fabric
    from weft.host import running_s
    from weft.kernel.registry import program_of
    from weft.kernel.studies import load_study
    from weft.launch import launcher_for
    from weft.launch.site import load_site
    from weft.run.check import Asked, exit_code, print_check, run_check
    from weft.run.progress import for_terminal

    progress = for_terminal()
    fabric = load_fabric(on) if on else load_site()
    launcher = launcher_for(fabric, mpicxx, progress.say, only="" if build else program_of(load_study("check")))
    if build:
        sys.stdout.write(f"built for {launcher.provenance().get('mpi', 'this MPI')}\n")
        return 0
    asked = Asked(nodes, time, ranks_per_node)
    folder = run_check(fabric, asked, launcher, progress, into, spent_s=running_s(), exclude=exclude_file)
    print_check(folder, format)
    return exit_code(folder)


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

    Args:
      on: A fabric file, or the name of a shipped one.
      nodes: The nodes: n[1-2]; by default the first two.
      time: Time of the whole audit: 90s. Launches that would end later are left out, after the six that a verdict
        needs (in twice the time at most), and so are large messages on slow networks; the answer names them. Where
        Weft submits, or inside salloc, all launches are measured, in whatever time.
      ranks_per_node: Ranks of each node: a number, or cores.
      format: text, or json (weft-show/1, with the same claims).
      into: The run folder; by default a new one under runs/.
      mpicxx: C++ compiler wrapper of the MPI to audit; by default the one on PATH.
    """
    from weft.fabric import load_fabric
    from weft.kernel.registry import program_of
    from weft.launch import launcher_for
    from weft.run.check import exit_code, print_check
    from weft.run.progress import for_terminal
    from weft.run.shipped import audit_study, run_audit
    from weft.units import parse_seconds

    progress = for_terminal()
    fabric = load_fabric(on)
    study = audit_study(fabric, nodes, time, ranks_per_node)
    launcher = launcher_for(fabric, mpicxx, progress.say, only=program_of(study))
    folder = run_audit(study, fabric, launcher, progress, into, parse_seconds(time))
    print_check(folder, format)
    return exit_code(folder)


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

    Args:
      study: A study file, or the name of a shipped one (check).
      on: A fabric file, or the name of a shipped one.
      every: Period of the nights: 1d, 12h.
      time: Time of one night's run.
      into: The folder of the nights; by default runs/watch-STUDY-on-FABRIC.
      mpicxx: C++ compiler wrapper of the MPI to measure; by default the one on PATH.
    """
    from datetime import UTC, datetime

    from weft.fabric import load_fabric
    from weft.kernel.registry import program_of
    from weft.kernel.studies import load_study
    from weft.launch import launcher_for
    from weft.report.card import print_rows
    from weft.report.compare.history import Nights, write_nights
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
        history = run_night(found, launcher_for(fabric, mpicxx, progress.say, only=program_of(found.study)), progress)
    hosts = fabric.hosts or history.nights[-1].hosts
    nights = Nights(history.study, history.fabric, history.nights, history.precision, hosts)
    page = write_nights(nights, found.folder)
    print_rows(nights.card(), console())
    sys.stderr.write(f"wrote {page}\n")
    return 3 if nights.last_alarm else exit_code(statuses(RunFolder(found.folder / history.nights[-1].run)))
