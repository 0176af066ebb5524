# SPDX-License-Identifier: BSD-3-Clause
"""A stretch of a trace on the terminal: a line a rank, a letter for what took most of a column."""

from weft.analyse.tables.traces import LETTERS
from weft.format import format_seconds


def timeline_lines(begin_s: float, end_s: float, rows: dict[int, str]) -> list[str]:
    """Head, a line for each rank, and what the letters mean.

    Parameters
    ----------
    begin_s, end_s
        Of the stretch, in s.
    """
    wide = max((len(str(rank)) for rank in rows), default=1)
    head = f"from {format_seconds(begin_s)} to {format_seconds(end_s)}, a letter what took most of the time:"
    lines = [f"{rank:>{wide}} |{letters}|" for rank, letters in rows.items()]
    return [head, *lines, ", ".join(f"{letter} {kind}" for kind, letter in LETTERS.items())]
