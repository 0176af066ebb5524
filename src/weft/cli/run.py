# SPDX-License-Identifier: BSD-3-Clause
"""The verb ``run``."""

import sys
from pathlib import Path

from weft.cli.signals import code_after


def run(
    study: str,
    /,
    *,
    on: tuple[str, ...] = ("local",),
    into: Path | None = None,
    mpicxx: str | None = None,
    pcap: tuple[str, ...] = (),
    cancel: bool = False,
    confirm: bool = False,
    time: str = "",
    nodes: str = "",
    launches: int | None = None,
    budget: str = "",
    quick: bool = False,
    wait: bool = False,
    anyway: bool = False,
    no_report: bool = False,
) -> int:
    """Measure a study on a fabric; the same command again continues where this one stopped.

    Exit code 0: everything was measured (rows that do not fit the memory or the fabric are results); 1: some cell is
    invalid, hung, crashed or never started; 2: a mistake in the files or arguments; 130: interrupted; 143: SIGTERM.

    Parameters
    ----------
    study
        A study file, or the name of a shipped one (contention).
    on
        A fabric file, or the name of a shipped one (local). Given several times: one run on each, then a page on all.
    into
        The run folder; by default one under runs/, named after study and fabric. With several fabrics, the parent of
        their run folders.
    mpicxx
        C++ compiler wrapper of the MPI to measure; by default the one on PATH.
    pcap
        Capture the packets of this node with tcpdump, on a virtual fabric (launches/*.NODE.pcap); may be repeated.
    cancel
        On Ctrl-C also cancel the job in the scheduler's queue; otherwise it continues, and the same command follows it.
    confirm
        Then move each variable of the MPI library that may cause a change-over, in new launches, and report whether
        the change-over moves and how much time that saves. Also for a complete run: --into RUN.
    time
        Time of the whole run in place of the study's: "10 min". The first answer comes early and gets narrower. More
        time refines an existing run.
    nodes
        Node counts of every series in place of the study's: 2,4.
    launches
        Starts of the ranks in place of the study's; a run with fewer gets the missing ones.
    budget
        Measuring time of one operation in one cell and launch in place of the study's: "2 min".
    quick
        A first look: at most 30 samples of an operation, 200 ms each, and nothing is explained.
    wait
        If this host is busy with other work, wait until it is quiet, half an hour at most.
    anyway
        If this host is busy with other work, go on without asking.
    no_report
        Only measure; weft report RUN makes tables and page, here or wherever the run folder is copied to.
    """
    from weft.kernel.studies import Overrides, parse_nodes
    from weft.run.many import PREPARING, Measuring

    overrides = Overrides(parse_nodes(nodes) if nodes else (), launches, budget, quick, time)
    measuring = None
    try:
        options = (cancel, confirm, overrides, wait, anyway)
        measuring = Measuring(study, on, into, mpicxx, pcap, *options, report=not no_report)
        return measuring.go()
    except KeyboardInterrupt as ended:
        sys.stderr.write(f"interrupted: {measuring.what_is_kept() if measuring else PREPARING}\n")
        return code_after(ended)
