# SPDX-License-Identifier: BSD-3-Clause
"""The verb ``list``."""

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Literal

from weft.cli.output import print_answer
from weft.errors import DataError
from weft.text import plain


def list_(
    what: Literal["studies", "fabrics", "runs"],
    folder: Path | None = None,
    /,
    *,
    format: Literal["text", "json"] = "text",
) -> None:
    """List what a command can name: studies, fabrics, or the runs below ./runs.

    Parameters
    ----------
    what
        studies and fabrics: those that ship with Weft, then files of the folder; runs: the latest first.
    folder
        Where else to look: for files in place of this folder, for runs (those made with --into) in place of ./runs.
    format
        text, or json: a list of objects of texts.

    Raises
    ------
    DataError
        The folder is none.
    """
    from weft.run.listing import RUNS, files_of, runs_of

    if folder is not None and not folder.is_dir():
        raise DataError(
            f"{folder} is no folder",
            "name a folder that is there; without one, this folder and ./runs are looked through",
        )
    makers = {
        "studies": lambda: files_of("studies", "kernel", folder or Path()),
        "fabrics": lambda: files_of("fabrics", "kind", folder or Path()),
        "runs": lambda: runs_of(folder or RUNS),
    }
    rows = makers[what]()
    if format == "json":
        print_answer(rows)
        return
    if not rows:
        sys.stdout.write(f"no {what} in {plain(str(folder))}\n" if folder else f"no {what} here\n")
        return
    print_rows(rows)


def print_rows(rows: Sequence[Mapping[str, str]]) -> None:
    """Print rows as a table, names and paths whole: two that begin alike differ only in their ends."""
    from rich.table import Column, Table

    from weft.text import console

    table = Table(*(Column(name, overflow="fold") for name in rows[0]), box=None)
    for each in rows:
        table.add_row(*each.values())
    console(soft_wrap=True).print(table)
