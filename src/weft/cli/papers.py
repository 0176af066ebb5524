# SPDX-License-Identifier: BSD-3-Clause
"""The verb ``papers``."""

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter


def papers(
    *parts: str,
    output: Annotated[Path, Parameter(name=["--output", "-o"])] = Path("papers.html"),
    into: Path = Path("runs") / "papers",
) -> None:
    """Compute the papers' figures on simulated machines, and write them beside the printed ones.

    Writes one page as .html and .md, and its numbers as .json. Needs SimGrid. All parts take about three quarters of an
    hour on two cores, most of it for `beyond`; simulations that are done are not done again.

    Parameters
    ----------
    parts
        Some of: tables, datasheet, machines, calls, memory, scaling, beyond, yellowstone, biruni; all by default.
    output
        The page, .html or .md.
    into
        Folder for the runs that the figures come from: each is a run like any other, for weft show and weft report.
    """
    from weft.papers import Part, compute, wanted
    from weft.papers.bench import Bench
    from weft.papers.page import check_name, write
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
