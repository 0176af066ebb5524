# SPDX-License-Identifier: BSD-3-Clause
"""The verbs that plan, measure or simulate: ``plan``, ``run``, ``replay``, ``whatif`` and ``papers``."""

import sys
from pathlib import Path
from typing import Annotated, Literal

from cyclopts import Parameter

from weft.cli.signals import code_after


def plan(study: str, /, *, on: str = "local", format: Literal["text", "md", "csv", "json"] = "text") -> None:
    """Print what a study would measure on a fabric: cells, memory, lower bounds, duration. Starts nothing.

    Args:
      study: A study file, or the name of a shipped one (contention).
      on: A fabric file, or the name of a shipped one (local, tara).
      format: text for people, md, csv (cells in bytes and seconds), or json (the plan itself).
    """
    from weft.fabric import load_fabric
    from weft.kernel.studies import load_study
    from weft.report.plan_tables import as_csv, as_markdown, print_text
    from weft.run.one import plan_study

    planned = plan_study(load_study(study), load_fabric(on))
    if format == "text":
        print_text(planned)
    elif format == "md":
        sys.stdout.write(as_markdown(planned))
    elif format == "csv":
        sys.stdout.write(as_csv(planned))
    else:
        sys.stdout.write(planned.model_dump_json(indent=2) + "\n")


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

    Args:
      study: A study file, or the name of a shipped one (contention).
      on: A fabric file, or the name of a shipped one (local). Given several times: one run on each, then a page on all.
      into:
        The run folder; by default one under runs/, named after study and fabric. With several fabrics, the parent of
        their run folders.
      mpicxx: C++ compiler wrapper of the MPI to measure; by default the one on PATH.
      pcap: Capture the packets of this node with tcpdump, on a virtual fabric (launches/*.NODE.pcap); may be repeated.
      cancel:
        On Ctrl-C also cancel the job in the scheduler's queue; otherwise it continues, and the same command follows it.
      confirm:
        Then move each variable of the MPI library that may cause a change-over, in new launches, and report whether
        the change-over moves and how much time that saves. Also for a complete run: --into RUN.
      time:
        Time of the whole run in place of the study's: "10 min". The first answer comes early and gets narrower. More
        time refines an existing run.
      nodes: Node counts of every series in place of the study's: 2,4.
      launches: Starts of the ranks in place of the study's; a run with fewer gets the missing ones.
      budget: Measuring time of one operation in one cell and launch in place of the study's: "2 min".
      quick: A first look: at most 30 samples of an operation, 200 ms each, and nothing is explained.
      wait: If this host is busy with other work, wait until it is quiet, half an hour at most.
      anyway: If this host is busy with other work, go on without asking.
      no_report: Only measure; weft report RUN makes tables and page, here or wherever the run folder is copied to.
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

    Args:
      trace: The folder of weft trace.
      on: A fabric file, or the name of a shipped one. Given several times: one run on each, then a page on all.
      into: The run folder; by default one under runs/.
      nodes: Number of nodes, which share the ranks equally; by default as few as have a core for each rank.
      place: Which nodes: a node set, "compact" or "best" (see weft place).
      compute: Time between calls, as a multiple of the traced one: x0.5 for processors of twice the speed.
      alltoall: What makes all-to-alls: default (the library's own), or one of Weft's, such as "node.multi{nl=4}".
      mpicxx: C++ compiler wrapper of the MPI to measure; by default the one on PATH.

    Raises:
      StudyError: --compute is no multiple, --nodes no number of nodes, or a fabric has no room.
    """
    from weft.fabric import load_fabric
    from weft.trace.replay import Asked, factor_of, introduction, prepare

    factor = factor_of(compute, nodes)
    study, made = prepare(trace, [load_fabric(each) for each in on], Asked(nodes, factor, place, alltoall))
    sys.stdout.write("\n".join(introduction(made)) + "\n")
    return run(str(study), on=on, into=into, mpicxx=mpicxx)


def whatif(trace: Path, /, *, on: str = "tara", nodes: int | None = None, compute: str = "x1") -> int:
    """Replay a traced application on a simulated machine, and on the same with one thing changed: what would help.

    Unchanged, the best nodes by the routes, a node-aware all-to-all, twice the uplinks, adapters of twice the rate,
    half the ranks on a node, better forwarding tables; and what no network could improve on. Each line has its level
    (simulated, static loads, closed form) and that level's known error. The same command again continues where it
    stopped.

    Args:
      trace: The folder of weft trace.
      on: A simulated fabric: a file, or the name of a shipped one.
      nodes: Number of nodes, which share the ranks equally; by default as few as have a core for each rank.
      compute: Time between calls, as a multiple of the traced one: x0.5 for processors of twice the speed.

    Raises:
      StudyError: --compute is no multiple, or --nodes no number of nodes.
    """
    from weft.trace.replay import factor_of
    from weft.whatif.whole import what_if

    return what_if(trace, on, nodes, factor_of(compute, nodes))


def papers(
    *parts: str,
    output: Annotated[Path, Parameter(name=["--output", "-o"])] = Path("papers.html"),
    into: Path = Path("runs") / "papers",
) -> None:
    """Compute the papers' figures on simulated machines, and write them beside the printed ones.

    Writes one page as .html and .md, and its numbers as .json. Needs SimGrid. All parts take about three quarters of an
    hour on two cores, most of it for `beyond`; simulations that are done are not done again.

    Args:
      parts: Some of: tables, datasheet, machines, calls, memory, scaling, beyond, yellowstone, biruni; all by default.
      output: The page, .html or .md.
      into: Folder for the runs that the figures come from: each is a run like any other, for weft show and weft report.
    """
    from weft.papers import Bench, Part, check_name, compute, wanted, write
    from weft.report.tabular import terminal
    from weft.text import console

    chosen = wanted(parts)
    check_name(output)
    out = console(120)
    bench = Bench(into, lambda line: out.print(line, style="dim"))
    done: list[Part] = []
    for name in chosen:
        done.append(part := compute(name, bench))
        out.print(part.title, style="bold")
        for each in (*part.found, *map(terminal, part.tables)):
            out.print(each)
    for path in write(done, output):
        out.print(f"wrote {path}")
