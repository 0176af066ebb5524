# SPDX-License-Identifier: BSD-3-Clause
"""The verb ``show``."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from weft.report.view import RunView


def show(
    run: Path | None = None,
    /,
    *,
    format: Literal["text", "md", "csv", "json", "latex", "osu", "reframe", "openmetrics"] = "text",
    engine: str | None = None,
    exact: bool = False,
    between: tuple[str, str] | None = None,
    all: bool = False,
) -> None:
    """Print a run: its card, findings and first table; everything with --all.

    Parameters
    ----------
    run
        A run folder; by default the latest below ./runs.
    format
        text, md, latex, csv (seconds and bytes, one line per cell, call and phase), json (weft-show/1), or
        what other tools read: osu (the columns of the OSU benchmarks), reframe (its performance log), openmetrics.
    engine
        Make the tables again on this engine: duckdb:// (the default), spark://local[2] or spark://HOST:PORT.
    exact
        For a run of pairs, also print exact quantiles over all samples, if they fit into memory.
    between
        For a run of pairs, also print the ranks of these two nodes in their pairs with each other, the slowest first.
    all
        Print every table: times, the calls cold and warm, memory, links.
    """
    from weft.cli.list import print_rows
    from weft.report import tables
    from weft.report.view import load_view
    from weft.run.listing import latest_run, runs_of
    from weft.run.refresh import reading, refresh
    from weft.text import plain

    if run is None:
        run = latest_run()
        sys.stderr.write(plain(f"the latest run: {run}\n"))
    elif format == "text" and not (run / "weft.json").exists() and (inside := runs_of(run)):
        sys.stderr.write(plain(f"{run} holds several runs: weft show RUN\n"))
        print_rows(inside)
        return
    refresh(run, engine)
    with reading(run):
        view = load_view(run)
        more = _on_demand(view, format, engine or "duckdb://", exact, between) if exact or between else ""
        if format == "text":
            tables.show(view, every=all)
        else:
            sys.stdout.write(tables.render(view, format))
        sys.stdout.write(more)


def _on_demand(view: "RunView", format: str, engine: str, exact: bool, between: tuple[str, str] | None) -> str:
    from weft.analyse.pairs.exact import exact_rows, rank_rows
    from weft.errors import DataError
    from weft.report.pair_view import exact_table, ranks_table
    from weft.report.tabular import markdown

    if format not in ("text", "md"):
        raise DataError(f"--exact and --between are printed as text or md, not as {format}", "leave --format out")
    tables = [exact_table(view, exact_rows(view.path, engine))] if exact else []
    tables += [ranks_table(view, between, rank_rows(view.path, between))] if between else []
    return "".join(f"\n{markdown(table)}\n" for table in tables)
