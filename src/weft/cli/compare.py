# SPDX-License-Identifier: BSD-3-Clause
"""The verb ``compare``."""

import sys
from collections.abc import Collection
from pathlib import Path
from typing import Annotated, Literal

from cyclopts import Parameter

from weft.errors import CompareError
from weft.extras import require_drawer
from weft.text import console


def compare(
    *runs: Path,
    format: Literal["text", "md", "csv", "json"] = "text",
    fail_if: Annotated[list[str] | None, Parameter(name="--fail-if")] = None,
    phase: Literal["warm", "cold", "both"] = "both",
    sizes: str | None = None,
    margin: float | None = None,
    output: Annotated[Path | None, Parameter(name=["--output", "-o"])] = None,
    figures: Annotated[tuple[Literal["svg", "pdf", "png"], ...], Parameter(validator=require_drawer)] = (),
    trend: bool = False,
) -> int:
    """Show whether runs differ, by how much and with what confidence: two networks, two libraries, before and after.

    Exit code 0: compared, and no gate failed; 1: a gate failed; 2: a mistake in the arguments, runs that cannot be
    compared, or a gate that is undecided because of too few launches.

    Args:
      runs: Two or more run folders; the first is the base with which the others are compared.
      format: text, md, csv (one line per row and summary), or json (weft-compare/1).
      fail_if:
        A gate: slower:1.10 fails when any row, or any call over its sizes, is shown to be slower and takes at least
        1.10 times the base's time; also faster:1.10, different:1.10, and missing (a row that was not measured). May be
        given several times.
      phase: Which calls to compare: the first on fresh connections (cold), the steady state (warm), or both.
      sizes: Only calls at these sizes, such as "64 KiB .. 1 MiB", which the network dominates.
      margin: Smallest relative difference called slower or faster; by default the precision that the studies asked for
        (0.05).
      output: Also write a page with the figures: both runs on one axis, and their ratio with its interval.
      figures: With -o, also write each figure as a file of this format, into the folder figures beside the page; may be
        repeated (needs the extra figures).
      trend: Show the history of one study instead: all runs in the order of their times, and when its times changed.
    """
    if trend:
        return show_trend(runs, format, output, figures)
    from weft.analyse.compare.claims import decide, exit_code, parse_gate
    from weft.analyse.compare.comparison import PHASES
    from weft.report.compare import load_compare, tables
    from weft.run.refresh import reading, refresh_compared

    gates = [parse_gate(text) for text in fail_if or ()]
    refresh_compared(runs)
    phases = PHASES if phase == "both" else (phase,)
    chosen = size_range(sizes) if sizes else None
    with reading(*runs, kind=CompareError):
        found = load_compare(runs, margin=margin, phases=phases, sizes=chosen)
        verdicts = [decide(gate, found.comparisons) for gate in gates]
        if format == "text":
            tables.print_compare(found, verdicts, console(140))
        else:
            sys.stdout.write(tables.render(found, verdicts, format))
        if output:
            from weft.report.compare.page import write

            write(found, verdicts, output, formats=figures)
            sys.stderr.write(f"wrote {output}\n")  # not on stdout: that may be JSON
    return exit_code(verdicts)


def show_trend(runs: tuple[Path, ...], format: str, output: Path | None, figures: Collection[str]) -> int:
    """Print the history of a study, and write its page."""
    from weft.report.compare import history
    from weft.run.refresh import reading, refresh_compared

    refresh_compared(runs)
    with reading(*runs, kind=CompareError):
        loaded, found = history.load_trend(runs)
        if format == "text":
            history.print_trend(found, console(140))
        else:
            sys.stdout.write(history.render(found, format))
        if output:
            history.write(loaded, found, output, formats=figures)
            sys.stderr.write(f"wrote {output}\n")
    return 0


def size_range(text: str) -> tuple[int, int]:
    """Bytes of both ends of ``"64 KiB .. 1 MiB"``. Raises CompareError: it is not a range of sizes."""
    from weft.units import parse_bytes

    low, dots, high = text.partition("..")
    try:
        ends = parse_bytes(low), parse_bytes(high if dots else low)
    except ValueError as problem:
        raise CompareError(f'--sizes "{text}": {problem}', 'write a range: "64 KiB .. 1 MiB"') from None
    if ends[0] > ends[1]:
        raise CompareError(f'--sizes "{text}" goes from a larger to a smaller size', 'write "64 KiB .. 1 MiB"')
    return ends
