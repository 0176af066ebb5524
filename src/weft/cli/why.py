# SPDX-License-Identifier: BSD-3-Clause
"""The verb ``why``."""

import sys
from pathlib import Path


def why(run: Path, /, *, json: bool = False, engine: str | None = None) -> None:
    """Print where the time of each all-to-all goes: hardware, messages, contention, algorithm, late ranks.

    Parameters
    ----------
    run
        A run folder, measured with explain = true (the default of studies of exchange and collective).
    json
        Print the steps as JSON (weft-why/1): seconds and factors, unrounded.
    engine
        Make the tables again on this engine: duckdb:// (the default), spark://local[2] or spark://HOST:PORT.
    """
    from weft.report.card import as_json, as_text
    from weft.report.view import load_view
    from weft.run.refresh import reading, refresh

    refresh(run, engine)
    with reading(run):
        view = load_view(run)
        sys.stdout.write(as_json(view) if json else as_text(view))
