# SPDX-License-Identifier: BSD-3-Clause
"""The verb ``fidelity``."""

import sys
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter


def fidelity(
    *parts: str,
    output: Annotated[Path, Parameter(name=["--output", "-o"])] = Path("fidelity.html"),
    into: Path = Path("runs") / "fidelity",
) -> None:
    """Compute the papers' figures again on simulated machines, and write them beside the printed ones.

    Writes one page as .html and .md, and its numbers as .json. Needs SimGrid. All parts take about three quarters of an
    hour on two cores, most of it for `beyond`; simulations that are done are not done again.

    Parameters
    ----------
    parts
        Some of: tables, datasheet, calls, memory, scaling, beyond, yellowstone, biruni; all by default.
    output
        The page, .html or .md.
    into
        Folder for the runs that the figures come from: each is a run like any other, for weft show and weft report.
    """
    from rich.console import Console

    from weft.fidelity import compute, wanted
    from weft.fidelity.bench import Bench
    from weft.fidelity.page import check_name, write
    from weft.report.tabular import terminal

    chosen = wanted(parts)
    check_name(output)
    console = Console(highlight=False, width=None if sys.stdout.isatty() else 120)
    bench = Bench(into, lambda line: console.print(line, style="dim", markup=False))
    done = []
    for name in chosen:
        part = compute(name, bench)
        console.print(part.title, style="bold", markup=False)
        for sentence in part.found:
            console.print(sentence, markup=False)
        for table in part.tables:
            console.print(terminal(table))
        done.append(part)
    for path in write(done, output):
        console.print(f"wrote {path}", markup=False)
