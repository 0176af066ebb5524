# SPDX-License-Identifier: BSD-3-Clause
"""Texts of others (names of nodes and switches, titles, a library's words) as plain text: one function a medium. A run
folder, a dump or a study may come from anybody. What stands in it is shown, and never obeyed: not by a terminal (ESC
sequences, rich's markup), LaTeX, a spreadsheet (formulas), Markdown, or a scheduler that reads a job script. Pages are
written by templates that escape everything, drawings by ``html.escape``.
"""

import re
from collections.abc import Collection
from functools import lru_cache
from shutil import get_terminal_size
from typing import Any

from weft.errors import FabricError

#: Control characters but tabs and the line's end, and what turns the direction of writing or has no shape of its own.
_HIDDEN = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff\ud800-\udfff]")
_FORMULA = ("=", "+", "-", "@", "\t", "\r")
#: One pass over the characters, so that what replaces one is never replaced again.
_LATEX = str.maketrans(
    {mark: f"\\{mark}" for mark in "&%$#_{}"}
    | {"\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "<": r"\textless{}"}
    | {">": r"\textgreater{}", "–": "--", "µ": r"$\mu$", "±": r"$\pm$", "·": r"$\cdot$"}
)


def plain(text: str) -> str:
    """A text without control characters: each is shown by a sign of one column (``␛`` for ESC); lines stay lines."""
    return _HIDDEN.sub(_shown, text)


def _shown(found: re.Match[str]) -> str:
    code = ord(found[0])
    return chr(0x2400 + code) if code < 0x20 else "\u2421" if code == 0x7F else "\ufffd"


def one_line(text: str, most: int | None = None) -> str:
    """A plain text on one line, cut after ``most`` characters, with dots in place of the rest."""
    line = plain(text).replace("\n", " ").replace("\t", " ")
    return line if most is None or len(line) <= most else f"{line[:most]}..."


def latex(text: str) -> str:
    """Text that LaTeX sets as it stands."""
    return one_line(text).translate(_LATEX)


def markdown_text(text: str) -> str:
    """A line of Markdown, without HTML of its own."""
    return one_line(text).replace("<", "&lt;")


def markdown_cell(text: str) -> str:
    """Text in a cell of a Markdown table."""
    return markdown_text(text).replace("|", "\\|")


def csv_field(value: Any) -> Any:
    """A field that no spreadsheet takes for a formula: a text that begins like one gets a ``'`` before it."""
    if not isinstance(value, str):
        return value
    return f"'{plain(value)}" if value.startswith(_FORMULA) else plain(value)


def directive(value: Any) -> str:
    """A value in the head of a job script, which knows no quoting; FabricError for a control character or line end."""
    text = str(value)
    if one_line(text) != text:
        what = f"{text!r} cannot be written into a job script: it has a line end or another control character"
        raise FabricError(what, "take it out of the fabric file's [batch], or choose another folder with --into DIR")
    return text


def is_plain_json(raw: bytes) -> bool:
    """Whether every text in some JSON is plain already: a run of 5,000 cells has a million of them."""
    return raw.isascii() and b"\\" not in raw and b"\x7f" not in raw


def plain_tree(value: Any) -> Any:
    """A tree of JSON with every text in it made plain, keys too."""
    if isinstance(value, str):
        return plain(value)
    if isinstance(value, list):
        return [plain_tree(part) for part in value]  # pyright: ignore[reportUnknownVariableType]
    if isinstance(value, dict):
        return {plain_tree(key): plain_tree(part) for key, part in value.items()}  # pyright: ignore[reportUnknownVariableType]
    return value


def console(otherwise: int | None = None, **options: Any) -> Any:
    """A terminal for people: a rich console that takes every text as it stands."""
    made = _console_type()(highlight=False, markup=False, emoji=False, **options)
    if otherwise and not made.is_terminal:
        made.width = otherwise
    if made.is_dumb_terminal:
        made.size = tuple(get_terminal_size((80, 25)))  # rich takes each of them for one of 80 columns
    return made


def lean_table(*columns: str, words: Collection[int] = (0,), **options: Any) -> Any:
    """A rich table without lines, its title on the left: words stand left, numbers right, long texts go on below."""
    from rich.table import Table

    made = Table(box=None, pad_edge=False, title_justify="left", **options)
    for place, name in enumerate(columns):
        made.add_column(name, justify="left" if place in words else "right", overflow="fold")
    return made


@lru_cache(maxsize=1)
def _console_type() -> type[Any]:
    from rich.console import Console
    from rich.segment import Segment

    class PlainConsole(Console):
        """Whatever a text holds, only rich's own control codes reach the terminal."""

        def render(self, renderable: Any, options: Any = None) -> Any:
            for segment in super().render(renderable, options):
                # a table renders its cells by this too, so that each text passes several times: most are plain by then
                if segment.control or not _HIDDEN.search(segment.text):
                    yield segment
                else:
                    yield Segment(plain(segment.text), segment.style)

    return PlainConsole
