# SPDX-License-Identifier: BSD-3-Clause
"""The verbs ``doctor`` and ``init``: what is here."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from cyclopts import Parameter

from weft.cli.output import print_answer

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from rich.text import Text

    from weft.doctor.probe import Probe


WIDE = 80  # columns from which on what was found stands beside its name


def doctor(*, on: str = "", mpicxx: str | None = None, format: Literal["text", "json"] = "text") -> int:
    """Show what this host has, what it lacks and for which purpose, and the command that installs it.

    With --on, measure a little on a fabric, in one job, and show whether its nodes, ranks, MPI, counters and clocks
    work. Exit code 0 when weft run can work, on this host or on that fabric, else 1.

    Args:
      on: A fabric file, or the name of a shipped one (local, virtual-default).
      mpicxx: With --on: C++ compiler wrapper of the MPI to check; by default the one on PATH.
      format: text, or json: a list of objects with name, found, verdict, needed_for, remedy, needed, serves, lacks and
        developers.
    """
    from weft.doctor.here import examine, healthy
    from weft.doctor.probe import ready

    if on:
        from weft.doctor.measured import examine_on
        from weft.fabric import load_fabric
        from weft.run.progress import for_terminal

        fabric = load_fabric(on)
        probes = examine_on(fabric, mpicxx, for_terminal())
        lacking = ", ".join(probe.name for probe in probes if probe.verdict == "missing")
        last = f"not ready: {fabric.name}: {lacking}" if lacking else f"ready: {fabric.name}"
    else:
        probes = examine()
        last = ready(probes)
    if format == "json":
        from dataclasses import asdict

        print_answer([asdict(probe) for probe in probes])
    else:
        show(probes, last)
    return 0 if healthy(probes) else 1


def show(probes: "Sequence[Probe]", last: str) -> None:
    """Print a line for each probe, what only developers need apart, and the last line."""
    from rich.text import Text

    from weft.text import console

    out = console(soft_wrap=True)
    columns = out.width if out.is_terminal else None
    for of_developers in (False, True):
        own = [probe for probe in probes if probe.developers is of_developers]
        if own and of_developers:
            out.print(Text("For those who work on Weft:"))
        for probe in own:
            show_probe(probe, out.print, columns)
    out.print(Text(last, "bold"))


def show_probe(probe: "Probe", say: "Callable[[Text], None]", columns: int | None) -> None:
    """Print what was found, and the command that installs or corrects it; on a terminal no word is broken."""
    from textwrap import wrap

    from rich.text import Text

    def wrapped(text: str) -> list[str]:
        if columns is None:
            return [text]
        return wrap(text, max(columns - margin, 1), break_long_words=False, break_on_hyphens=False) or [""]

    colours = {"ok": "green", "warn": "yellow", "missing": "dim"}
    colour = "red" if probe.needed and probe.verdict == "missing" else colours[probe.verdict]
    found = ": ".join(text for text in (probe.found, probe.needed_for) if text)
    head = Text(f"{probe.verdict:8}", colour).append(f"{probe.name:26}", "bold")
    margin = 34 if columns is None or columns >= WIDE else 8
    first, *more = wrapped(found)
    if margin < len(head.plain):
        head.rstrip()
        more = [first, *more] if first else more
    else:
        head.append(first, "default")
    say(head)
    for line in (*more, *(wrapped(f"-> {probe.remedy}") if probe.remedy else ())):
        say(Text(f"{'':{margin}}{line}"))


def init(
    scheduler: str = "",
    /,
    *,
    output: Annotated[Path | None, Parameter(name=("--output", "-o"))] = None,
    force: bool = False,
) -> None:
    """Write an annotated fabric file of this cluster, from what its scheduler and adapters say.

    Values that could not be found are comments with an example. Nothing is submitted.

    Args:
      scheduler: slurm, pbs, lsf or flux; by default the one whose commands are on PATH.
      output: The file to write, mycluster.toml; by default it is printed.
      force: Replace the file if there is one.

    Raises:
      FabricError: The file is there already, or the scheduler names no node.
      LaunchError: The scheduler's commands are not on PATH, or do not answer.
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
