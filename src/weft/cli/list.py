# SPDX-License-Identifier: BSD-3-Clause
"""The verb ``list``."""

import sys
from typing import Literal


def list_(what: Literal["studies", "fabrics", "runs"], /, *, format: Literal["text", "json"] = "text") -> None:
    """List what a command can name: studies, fabrics, or the runs below ./runs.

    Parameters
    ----------
    what
        studies and fabrics: those that ship with Weft, then files of this folder; runs: the latest first.
    format
        text, or json: a list of objects of texts.
    """
    from pathlib import Path

    from weft.run.listing import files_of, runs_of

    here = Path()
    makers = {
        "studies": lambda: files_of("studies", "kernel", here),
        "fabrics": lambda: files_of("fabrics", "kind", here),
        "runs": runs_of,
    }
    rows = makers[what]()
    if format == "json":
        import json

        sys.stdout.write(json.dumps(rows, indent=2) + "\n")
        return
    if not rows:
        sys.stdout.write(f"no {what} here\n")
        return
    from rich.table import Table

    from weft.text import console

    table = Table(*rows[0], box=None)
    for each in rows:
        table.add_row(*each.values())
    console(soft_wrap=True).print(table)
