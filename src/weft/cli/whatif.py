# SPDX-License-Identifier: BSD-3-Clause
"""The verbs that simulate: ``whatif`` and ``papers``."""

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter


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
        part = compute(name, bench)
        out.print(part.title, style="bold")
        for sentence in part.found:
            out.print(sentence)
        for table in part.tables:
            out.print(terminal(table))
        done.append(part)
    for path in write(done, output):
        out.print(f"wrote {path}")
