# SPDX-License-Identifier: BSD-3-Clause
"""The verbs ``weft trace`` and ``weft trace show``."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from cyclopts import App, Parameter

from weft.errors import StudyError

if TYPE_CHECKING:
    from weft.store.trace.folder import TraceFolder

app = App(name="trace", help="Record what an application asks of the network, and show it.")


@app.default
def take(
    *command: Annotated[str, Parameter(allow_leading_hyphen=True)],
    output: Annotated[Path | None, Parameter(name=("--output", "-o"))] = None,
    most: str = "1GiB",
    mpicxx: str | None = None,
) -> int:
    """Record the MPI calls of an application, without recompiling it.

    weft trace -o RUN -- mpirun -n 64 ./application; then weft trace show RUN. In a job script: set
    LD_PRELOAD and WEFT_TRACE, as the documentation shows.

    Args:
      command: The starter and its arguments, after "--".
      output: A new folder; trace-1, trace-2 ... by default.
      most: Size of each rank's records; later calls are summarised by call site.
      mpicxx: C++ compiler wrapper of the application's MPI; the one beside the starter by default.

    Raises:
      StudyError: There is no command, or the size is none.
    """
    from weft.store.trace.folder import TraceFolder
    from weft.trace.take import describe_trace, free_folder, take_trace
    from weft.units import parse_bytes

    if not command:
        raise StudyError("weft trace has no command", "weft trace -o RUN -- mpirun -n 4 ./application")
    try:
        most_bytes = parse_bytes(most)
    except ValueError as error:
        raise StudyError(f"--most {most}: {error}", "give a size: --most 256MiB") from None
    into = output or free_folder()
    code = take_trace(command, into, most_bytes, mpicxx, lambda line: print(line, file=sys.stderr))
    folder = TraceFolder(into)
    if folder.tables.is_dir():
        sys.stderr.write("\n".join([*describe_trace(folder), f"next: weft trace show {into}"]) + "\n")
    return code


@app.command
def show(
    run: Path,
    /,
    *,
    format: Literal["text", "json"] = "text",
    output: Annotated[Path | None, Parameter(name=("--output", "-o"))] = None,
    begin: str = "",
    end: str = "",
    engine: str | None = None,
) -> None:
    """Print what an application asked of the network: time by call, size and communicator, late ranks, phases, verdict.

    Args:
      run: A folder of weft trace, or one that a job script's WEFT_TRACE named.
      format: text for people, or json (schema weft-trace-show/1).
      output:
        Also write a page with these tables and the communication matrices (.html), or the matrix of bytes alone (.svg).
      begin, end:
        Print a timeline of this stretch instead, a line a rank: --begin 1.5s --end 1.6s, from the first call on.
      engine: Make the tables again on this engine: duckdb:// (the default), spark://local[2] or spark://HOST:PORT.
    """
    from weft.store.trace.folder import TraceFolder
    from weft.trace.events import reading_trace
    from weft.trace.take import bring_in

    folder = TraceFolder.open(run)
    with reading_trace(run):
        bring_in(folder)
        if begin or end:
            _show_stretch(folder, begin, end)
        else:
            _show_whole(folder, format, output, engine)


def _show_whole(folder: "TraceFolder", format: str, output: Path | None, engine: str | None) -> None:
    from weft.analyse.trace import ensure_trace_tables
    from weft.report.card import print_rows
    from weft.report.tabular import terminal
    from weft.report.traces import as_json, load_trace, trace_tables, write_matrix, write_trace_page
    from weft.text import console
    from weft.trace.take import describe_trace

    ensure_trace_tables(folder, engine)
    view, notes = load_trace(folder), describe_trace(folder)
    if format == "json":
        sys.stdout.write(as_json(view))
    else:
        out = console(140)
        print_rows(view.card, out)
        out.print()
        for each in (*notes, *map(terminal, trace_tables(view))):
            out.print(each)
    if output:
        if output.suffix.lower() == ".svg":
            write_matrix(view, output)
        else:
            write_trace_page(view, output, notes)
        sys.stderr.write(f"wrote {output}\n")


def _show_stretch(folder: "TraceFolder", begin: str, end: str) -> None:
    from weft.analyse.trace.timeline import timeline
    from weft.report.traces import timeline_lines
    from weft.units import parse_seconds

    try:
        begin_s, end_s = (parse_seconds(each) if each else None for each in (begin, end))
    except ValueError as error:
        raise StudyError(f"--begin {begin} --end {end}: {error}", "give times: --begin 1.5s --end 1.6s") from None
    found = timeline(folder, begin_s, end_s)
    sys.stdout.write("\n".join(timeline_lines(found.begin_s, found.end_s, found.letters())) + "\n")


@app.command
def export(run: Path, output: Path, /, *, to: Literal["perfetto", "otf2"] = "perfetto") -> None:
    """Write a trace for other tools: JSON for Perfetto (ui.perfetto.dev), or OTF2 for Vampir, Scalasca and the like.

    Args:
      run: A folder of weft trace.
      output: The file, e.g. trace.json; a new folder for OTF2.
      to: perfetto, or otf2 (it takes the Python package otf2: pip install otf2).
    """
    from weft.store.trace.folder import TraceFolder
    from weft.trace.events import reading_trace
    from weft.trace.export import write_otf2, write_perfetto
    from weft.trace.take import bring_in

    folder = TraceFolder.open(run)
    with reading_trace(run):
        bring_in(folder)
        calls = (write_otf2 if to == "otf2" else write_perfetto)(folder, output)
    sys.stderr.write(f"wrote {output}: {calls:,} calls\n")


@app.command(name="import")
def bring(source: Path, /, *, output: Annotated[Path | None, Parameter(name=("--output", "-o"))] = None) -> None:
    """Bring in a trace that another tool took: OTF2 (Score-P and others).

    Args:
      source: The archive's traces.otf2, or its folder.
      output: A new folder; trace-1, trace-2 ... by default.
    """
    from weft.store.trace.folder import TraceFolder
    from weft.trace.bring import import_trace
    from weft.trace.take import describe_trace, free_folder

    into = output or free_folder()
    lines = import_trace(source, into)
    sys.stderr.write("\n".join([*describe_trace(TraceFolder(into)), *lines, f"next: weft trace show {into}"]) + "\n")
