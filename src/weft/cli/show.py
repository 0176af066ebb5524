# SPDX-License-Identifier: BSD-3-Clause
"""The verbs that read runs: ``list``, ``show``, ``why``, ``report`` and ``compare``."""

import sys
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from cyclopts import Parameter

from weft.cli.output import print_answer
from weft.errors import CompareError, DataError
from weft.extras import require_drawer
from weft.text import console, plain

if TYPE_CHECKING:
    from weft.report.view import RunView


def list_(
    what: Literal["studies", "fabrics", "runs"],
    folder: Path | None = None,
    /,
    *,
    format: Literal["text", "json"] = "text",
) -> None:
    """List what a command can name: studies, fabrics, or the runs below ./runs.

    Args:
      what: studies and fabrics: those that ship with Weft, then files of the folder; runs: the latest first.
      folder:
        Where else to look: for files in place of this folder, for runs (those made with --into) in place of ./runs.
      format: text, or json: a list of objects of texts.

    Raises:
      DataError: The folder is none.
    """
    from weft.run.folder import RUNS, files_of, runs_of

    if folder is not None and not folder.is_dir():
        raise DataError(
            f"{folder} is no folder",
            "name a folder that is there; without one, this folder and ./runs are looked through",
        )
    key = "kernel" if what == "studies" else "kind"
    rows = runs_of(folder or RUNS) if what == "runs" else files_of(what, key, folder or Path())
    if format == "json":
        print_answer(rows)
    elif rows:
        print_rows(rows)
    else:
        sys.stdout.write(f"no {what} in {plain(str(folder))}\n" if folder else f"no {what} here\n")


def print_rows(rows: Sequence[Mapping[str, str]]) -> None:
    """Print rows as a table, names and paths whole: two that begin alike differ only in their ends."""
    from rich.table import Column, Table

    table = Table(*(Column(name, overflow="fold") for name in rows[0]), box=None)
    for each in rows:
        table.add_row(*each.values())
    console(soft_wrap=True).print(table)


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

    Args:
      run: A run folder; by default the latest below ./runs.
      format: text, md, latex, csv (seconds and bytes, one line per cell, call and phase), json (weft-show/1), or
        what other tools read: osu (the columns of the OSU benchmarks), reframe (its performance log), openmetrics.
      engine: Make the tables again on this engine: duckdb:// (the default), spark://local[2] or spark://HOST:PORT.
      exact: For a run of pairs, also print exact quantiles over all samples, if they fit into memory.
      between:
        For a run of pairs, also print the ranks of these two nodes in their pairs with each other, the slowest first.
      all: Print every table: times, the calls cold and warm, memory, links.
    """
    from weft.report import tables
    from weft.report.view import load_view
    from weft.run.folder import latest_run, runs_of
    from weft.run.refresh import reading, refresh

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
    from weft.analyse.pairs.hop_tables import exact_rows, rank_rows
    from weft.report.pair_view import exact_table, ranks_table
    from weft.report.tabular import markdown

    if format not in ("text", "md"):
        raise DataError(f"--exact and --between are printed as text or md, not as {format}", "leave --format out")
    tables = [exact_table(view, exact_rows(view.path, engine))] if exact else []
    tables += [ranks_table(view, between, rank_rows(view.path, between))] if between else []
    return "".join(f"\n{markdown(table)}\n" for table in tables)


def why(run: Path, /, *, json: bool = False, engine: str | None = None) -> None:
    """Print where the time of each all-to-all goes: hardware, messages, contention, algorithm, late ranks.

    Args:
      run: A run folder, measured with explain = true (the default of studies of exchange and collective).
      json: Print the steps as JSON (weft-why/1): seconds and factors, unrounded.
      engine: Make the tables again on this engine: duckdb:// (the default), spark://local[2] or spark://HOST:PORT.
    """
    from weft.report.card import as_json, as_text
    from weft.report.view import load_view
    from weft.run.refresh import reading, refresh

    refresh(run, engine)
    with reading(run):
        view = load_view(run)
        sys.stdout.write(as_json(view) if json else as_text(view))


def report(
    *runs: Path,
    output: Annotated[Path | None, Parameter(name=["--output", "-o"])] = None,
    figures: Annotated[tuple[Literal["svg", "pdf", "png"], ...], Parameter(validator=require_drawer)] = (),
    engine: str | None = None,
) -> None:
    """Write one offline page about runs: verdict, figures, tables, warnings, provenance.

    Args:
      runs: One or several run folders; by default the latest below ./runs.
      output: The page; by default report.html in the run folder, for several runs in the current folder.
      figures: Also write each figure as a file of this format, into the folder figures beside the page; may be repeated
        (needs the extra figures).
      engine: Make the tables again on this engine: duckdb:// (the default), spark://local[2] or spark://HOST:PORT.
    """
    from weft.report.page import write
    from weft.run.refresh import reading, refresh

    if not runs:
        from weft.run.folder import latest_run

        runs = (latest_run(),)
        sys.stderr.write(plain(f"the latest run: {runs[0]}\n"))
    for run in runs:
        refresh(run, engine)
    path = output or (runs[0] / "report.html" if len(runs) == 1 else Path("report.html"))
    with reading(*runs):
        written = write(runs, path, formats=figures)
    sys.stdout.write(f"wrote {written}" + (f", figures in {written.parent / 'figures'}\n" if figures else "\n"))


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
        return _show_trend(runs, format, output, figures)
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


def _show_trend(runs: tuple[Path, ...], format: str, output: Path | None, figures: Collection[str]) -> int:
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
