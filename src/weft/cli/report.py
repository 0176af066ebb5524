# SPDX-License-Identifier: BSD-3-Clause
"""The verb ``report``."""

import sys
from pathlib import Path
from typing import Annotated, Literal

from cyclopts import Parameter

from weft.extras import require_drawer


def report(
    *runs: Path,
    output: Annotated[Path | None, Parameter(name=["--output", "-o"])] = None,
    figures: Annotated[tuple[Literal["svg", "pdf", "png"], ...], Parameter(validator=require_drawer)] = (),
    engine: str | None = None,
) -> None:
    """Write one offline page about runs: verdict, figures, tables, warnings, provenance.

    Parameters
    ----------
    runs
        One or several run folders; by default the latest below ./runs.
    output
        The page; by default report.html in the run folder, for several runs in the current folder.
    figures
        Also write each figure as a file of this format, into the folder figures beside the page; may be repeated
        (needs the extra figures).
    engine
        Make the tables again on this engine: duckdb:// (the default), spark://local[2] or spark://HOST:PORT.
    """
    from weft.report.page import write
    from weft.run.refresh import reading, refresh
    from weft.text import plain

    if not runs:
        from weft.run.listing import latest_run

        runs = (latest_run(),)
        sys.stderr.write(plain(f"the latest run: {runs[0]}\n"))
    for run in runs:
        refresh(run, engine)
    path = output or (runs[0] / "report.html" if len(runs) == 1 else Path("report.html"))
    with reading(*runs):
        written = write(runs, path, formats=figures)
    sys.stdout.write(f"wrote {written}" + (f", figures in {written.parent / 'figures'}\n" if figures else "\n"))
