# SPDX-License-Identifier: BSD-3-Clause
"""Running an application under the tracer, into a folder of its own."""

import shlex
import signal
from collections.abc import Callable, Sequence
from pathlib import Path

from weft import __version__
from weft.errors import DataError
from weft.files.atomic import file_errors, make_folder, new_folder
from weft.format import format_seconds, plural
from weft.launch.preload import TRACER, build_preload, mpi_of, run_preloaded
from weft.store.trace.convert import convert_trace
from weft.store.trace.folder import TRACE_RANKS, TraceFolder, is_converted
from weft.store.trace.layout import State
from weft.store.trace.reader import read_header, trace_files

MOST_NAMES = 10_000
OF_STARTERS = (1, signal.SIGINT, signal.SIGTERM)
"""What Open MPI, and MPICH, make of ranks that a signal ended: any other exit code is the application's own."""


def free_folder() -> Path:
    """The first of ``trace-1``, ``trace-2`` ... here that does not exist; DataError after thousands."""
    names = (Path(f"trace-{number}") for number in range(1, MOST_NAMES))
    if free := next((path for path in names if not path.exists()), None):
        return free
    raise DataError(f"there are {MOST_NAMES - 1:,} traces in this folder", "name another one: -o RUN")


def take_trace(
    command: Sequence[str], into: Path, most_bytes: int, mpicxx: str | None, say: Callable[[str], None]
) -> int:
    """Run a command under the tracer and return its exit code; what was recorded of a failed one is kept.
    `mpicxx`: C++ compiler wrapper of the application's MPI; None: the one beside the starter. Raises StudyError: the
    folder is not empty, or the program cannot have ranks. Raises DataError: the folder cannot be written, or no rank
    wrote a trace of a success. Raises LaunchError: no such starter or MPI, or the tracer is not built.
    """
    mpi = mpi_of(command, mpicxx)
    new_folder(into, "weft trace -o RUN -- mpirun ...")
    library = build_preload(TRACER, mpi, say)
    folder = TraceFolder(into)
    with file_errors(folder.path):
        make_folder(folder.raw)
    folder.describe(command=shlex.join(command), library=str(library), weft=__version__)
    variables = {"WEFT_TRACE": str(folder.path.absolute()), "WEFT_TRACE_MOST": str(most_bytes)}
    code, signalled, warning = run_preloaded(library, command, variables, mpi, hands_on=True)
    folder.describe(exit_code=str(code))
    if warning:
        say(f"weft: {warning}")
    if trace_files(folder.raw) or code == 0:
        bring_in(folder)
    return 128 + signalled if signalled and (code >= 128 or code in OF_STARTERS) else code


def bring_in(folder: TraceFolder) -> None:
    """Bring the ranks' records into Parquet, unless that was done since; DataError as convert_trace."""
    if not is_converted(folder):
        if not folder.meta.is_file():
            folder.describe(weft=__version__)
        convert_trace(folder)


def describe_trace(folder: TraceFolder) -> list[str]:
    """What was recorded, at what cost and what is missing: some lines. DataError if the tables are missing."""
    rows = TRACE_RANKS.read(folder.path)
    calls = sum(row["events"] + row["summarised"] for row in rows)
    lines = [f"{folder.path}: {plural(calls, 'record')} of {plural(len(rows), 'rank')}"]
    # measured by the tracer itself in each rank at its end, so only where ranks came to their end
    if (most_ns := max((row["cost_ns"] for row in rows), default=0)) > 0:
        lines.append(f"the tracer cost up to {format_seconds(most_ns / 1e9)} a call")
    if summarised := sum(row["summarised"] for row in rows):
        lines.append(
            f"{summarised:,} of the calls are summarised by call site: the ranks' files were as large as allowed -> "
            "for all of them: weft trace --most 8GiB"
        )
    if lacking := [row["missing"] for row in rows if row["missing"]]:
        lines += [f"this trace is partial: {plural(len(lacking), 'rank')} of {len(rows):,}", *lacking[:3]]
        lines += [f"... and {plural(len(lacking) - 3, 'rank')} more"] if len(lacking) > 3 else []
    heads = [read_header(path) for path in trace_files(folder.raw)]
    if without := sum(head.is_closed and State.SUMMED not in head.state for head in heads):
        lines.append(f"{plural(without, 'file')} of an earlier Weft without a checksum: damage to records is not found")
    return lines
