# SPDX-License-Identifier: BSD-3-Clause
"""The page of all parts, as Markdown, as HTML in the report's style, and the numbers as JSON."""

import json
from collections.abc import Sequence
from pathlib import Path

from weft import __version__
from weft.errors import StudyError
from weft.papers import Part
from weft.report.html import fill, write_page
from weft.report.tabular import markdown

TITLE = "The papers' figures, simulated"
OPENING = (
    "Every time here that is not the paper's comes from a simulation (SimGrid's SMPI running Weft's own kernels on a "
    "fabric file) or, where it says so, from a lower bound. None was measured on the clusters."
)


def write(parts: Sequence[Part], page: Path) -> list[Path]:
    """Write the page as .html (without external resources) and .md, and its numbers as .json."""
    check_name(page)
    html = fill("papers.html", charts=False, title=TITLE, opening=OPENING, parts=parts)
    numbers = json.dumps({part.name: part.values for part in parts}, indent=1) + "\n"
    texts = {".md": as_markdown(parts), ".html": html, ".json": numbers}
    for suffix, text in texts.items():
        write_page(page.with_suffix(suffix), text)
    return [page.with_suffix(suffix) for suffix in texts]


def check_name(page: Path) -> None:
    """Raise StudyError for a file name that :func:`write` would refuse, before any work is done."""
    if page.suffix not in (".html", ".md"):
        raise StudyError(f"{page} is neither .html nor .md", "give -o papers.html: the others are written beside it")


def as_markdown(parts: Sequence[Part]) -> str:
    """All parts in Markdown."""
    blocks = [f"# {TITLE}", OPENING]
    for part in parts:
        blocks += [f"## {part.title[0].upper()}{part.title[1:]}", *part.found, *map(markdown, part.tables)]
    return "\n\n".join([*blocks, f"Made by `weft papers`, Weft {__version__}."]) + "\n"
