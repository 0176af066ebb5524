# SPDX-License-Identifier: BSD-3-Clause
"""Analysis: from samples to tables, in Ibis expressions only; a URL chooses the engine."""

from typing import Any


def make_tables(folder: Any, engine: str = "duckdb://") -> None:
    """Make a run's tables; see `weft.analyse.make.make_tables`."""
    from weft.analyse import make

    make.make_tables(folder, engine)
