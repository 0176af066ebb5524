# SPDX-License-Identifier: BSD-3-Clause
"""Reading a trace whose files somebody may have edited: each is well formed, and yet they do not make a whole."""

import shlex
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from weft.errors import DataError
from weft.run.refresh import said_of, unfit
from weft.store.trace.folder import TraceFolder


@contextmanager
def reading_trace(run: Path) -> Generator[None, None, None]:
    """Turn what comes of edited or missing files of a trace into one message.

    Raises
    ------
    DataError
        Its files do not fit together.
    """
    try:
        yield
    except unfit() as problem:
        if isinstance(problem, OSError) and isinstance(problem.filename, str):
            raise  # of a file that is written
        folder = TraceFolder(run)
        made = shlex.join(str(place) for place in (folder.events, folder.counts, folder.tables) if place.exists())
        anew = f"rm -r {made}, then the same command makes them anew from {folder.raw}"
        none = "take the trace again: weft trace -o RUN -- mpirun -n 4 ./application"
        raise DataError(
            f"{run}: the files of the trace do not fit together: {said_of(problem)}",
            (anew if folder.raw.is_dir() and made else none)
            + "; if this error comes again, it is a mistake in Weft: report it with these lines",
        ) from problem
