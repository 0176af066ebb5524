# SPDX-License-Identifier: BSD-3-Clause
"""HTML pages and files of figures: filling the templates, the script that draws charts, and writing."""

import json
import re
from collections.abc import Callable, Collection, Iterable
from functools import lru_cache, partial
from importlib.resources import files
from pathlib import Path
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup, escape

from weft import __version__
from weft.files.atomic import file_errors, write_atomic
from weft.files.shipped import VEGALITE, vega_bundle
from weft.format import capital, measured_factor
from weft.report.figures import Figure, Picture
from weft.report.figures.theme import BLUE, DARKER, GREY, INK
from weft.text import plain, plain_tree

PNG_SCALE, FORMATS = 2, ("svg", "pdf", "png")
_BOUND = re.compile(r"(?P<main>[\d.,]+ (?:s|ms|us|ns|[kMGT]?B/s))(?:, (?P<of>.*)| (?P<interval>\(.*\)))")
_CODE = re.compile(r"`([^`]+)`")
_OPTION = re.compile(r"(?<![\w-])--[a-z][a-z-]*(?: \d+)?")


def fill(template: str, *, charts: bool = True, **values: Any) -> str:
    """A template of ``template/`` filled with values, style, version and (with ``charts``) the drawing script."""
    own = files("weft.report") / "template"
    if charts:
        values |= {"script": Markup((own / "page.js").read_text()), "vega": Markup(vega_bundle())}
    style = Markup((own / "style.css").read_text())
    return _environment().get_template(template).render(style=style, version=__version__, **values)


@lru_cache(maxsize=1)
def _environment() -> Any:
    looks: dict[str, Any] = {"autoescape": True, "trim_blocks": True, "undefined": StrictUndefined}
    environment = Environment(loader=PackageLoader("weft.report", "template"), finalize=shown, **looks)
    own: dict[str, Any] = {"parts": parts, "json": embedded, "factor": measured_factor, "unbroken": unbroken}
    environment.filters.update(own | {"sentence": capital})
    return environment


def shown(value: Any) -> Any:
    """A value as a page shows it: text without control characters; what is HTML already stays as it is."""
    return plain(value) if isinstance(value, str) and not hasattr(value, "__html__") else value


def unbroken(text: str) -> Any:
    """A sentence as HTML: no line ends within an option, ``--launches 10``; what stands in backticks is a command."""
    whole = _OPTION.sub(r'<span class="option">\g<0></span>', str(escape(plain(text))))
    return Markup(_CODE.sub(r"<code>\g<1></code>", whole))


def write_page(path: Path, text: str) -> None:
    """Write a page, whole or not at all; creates its folder."""
    with file_errors(path):
        path.parent.mkdir(parents=True, exist_ok=True)
    write_atomic(path, text.encode())


def figure_values(place: str, figure: Figure | Picture) -> dict[str, Any]:
    """A figure for the template: panels of charts, or a drawing that needs no script."""
    said = {"id": place, "title": figure.title, "key": figure.key, "reading": figure.reading}
    if isinstance(figure, Picture):
        return said | {"panels": [], "svg": Markup(paint_for_page(figure.svg)), "extra": Markup(figure.extra_html)}
    return said | {"panels": [paint_for_page(panel) for panel in figure.specifications()], "svg": "", "extra": ""}


def _lighter(colour: str) -> str:  # mixed with white, 45 parts of a hundred: reads well on dark paper
    return "#" + "".join(f"{round(part + 0.45 * (255 - part)):02x}" for part in bytes.fromhex(colour[1:]))


#: Colours of a figure's file to those of the page, which follow its light or dark scheme.
PAGE_COLOURS = {
    INK: "var(--ink)", "#1f2933": "var(--ink)", GREY: "var(--soft)", "#6b7785": "var(--soft)", "#9ca3af": "var(--soft)",
    "white": "var(--paper)", "#f4f6f8": "var(--ground)", "#e5e7eb": "var(--line)",
    **{each: f"light-dark({each}, {_lighter(each)})"
       for each in (BLUE, *DARKER.values(), "#a23b8c", "#7c3aed", "#b0305c", "#26789f")},
}  # fmt: skip
_PAINTED = re.compile(r'(?<=")(?:' + "|".join(map(re.escape, PAGE_COLOURS)) + r')(?=")')


def paint_for_page(drawn: Any) -> Any:
    """A drawing, or a chart's specification, in the colours of the page."""
    if isinstance(drawn, str):
        return _PAINTED.sub(lambda found: PAGE_COLOURS[found[0]], drawn)
    return json.loads(paint_for_page(json.dumps(drawn)))


def parts(cell: str) -> tuple[str, str]:
    """A table's cell split into its main number and the small text below: interval, or the bound's name."""
    found = _BOUND.fullmatch(cell)
    return (found["main"], found["of"] or found["interval"]) if found else (cell, "")


def embedded(value: Any) -> Any:
    """JSON as Markup that cannot close its script element."""
    text = json.dumps(plain_tree(value), allow_nan=False, separators=(",", ":"), ensure_ascii=False)
    return Markup(text.replace("<", "\\u003c"))


def write_figures(figures: Iterable[Figure | Picture], folder: Path, formats: Collection[str] = FORMATS) -> list[Path]:
    """Write each figure as ``<name>.svg``, ``.pdf`` and ``.png``, or some of them, and return the paths."""
    import vl_convert

    written: list[Path] = []
    with file_errors(folder):
        folder.mkdir(parents=True, exist_ok=True)
    for figure in figures:
        if isinstance(figure, Picture):
            svg = figure.svg
        else:
            svg = vl_convert.vegalite_to_svg(json.dumps(figure.whole()), vl_version=VEGALITE)
        # all from the SVG: Vega need not lay the figure out again
        makers: dict[str, Callable[[str], bytes]] = {"svg": str.encode, "pdf": vl_convert.svg_to_pdf}
        makers["png"] = partial(vl_convert.svg_to_png, scale=PNG_SCALE)
        for ending in (each for each in FORMATS if each in formats):
            path = folder / f"{figure.name}.{ending}"
            write_atomic(path, makers[ending](svg))
            written.append(path)
    return written
