# SPDX-License-Identifier: BSD-3-Clause
"""Figures: a `Picture` is drawn, a `Figure` made of charts."""

import json
import textwrap
from dataclasses import dataclass
from functools import cached_property
from importlib.resources import files
from typing import Any, TypeAlias

from weft.text import plain


@dataclass(frozen=True)
class Shown:
    """What stands beside a figure of the report."""

    name: str  # name of its files, without ending
    title: str  # what the figure shows
    key: str  # how to read the marks
    reading: str  # its result in one sentence


@dataclass(frozen=True)
class Picture(Shown):
    """One drawn figure of the report."""

    # the drawing: one ``<svg>`` element with a ``viewBox``, inserted into the page unchanged, so its maker must escape
    # every text. Identifiers inside (gradients, clips) must be unique on the page: start them with the name. A raster
    # is an ``<image>`` whose ``href`` is a ``data:`` address.
    svg: str
    # markup after the drawing, on the page only (a tooltip's script, a list), also escaped by its maker
    extra_html: str = ""


@dataclass(frozen=True)
class Figure(Shown):
    """One made of charts; Altair is imported where it is drawn."""

    panels: tuple[Any, ...]  # charts: one, or several small ones side by side that wrap on a narrow page
    wide: bool = False  # whether panels have room for a logarithmic axis: at most two side by side, of their own width

    @cached_property
    def drawn(self) -> list[dict[str, Any]]:
        """Each panel as Vega-Lite JSON: for the page and for the figure's own file."""
        from weft.report.figures.theme import specification

        return [specification(panel) for panel in self.panels]

    def specifications(self) -> list[dict[str, Any]]:
        """Each panel for a page, without the title (the page has it); a single panel fills the width."""
        return [self.drawn[0] | {"width": "container"}] if len(self.drawn) == 1 and not self.wide else self.drawn

    def whole(self) -> dict[str, Any]:
        """The figure with its title, for its own file."""
        from weft.report.figures.theme import COLUMNS, WIDTH, beside

        key = plain(self.key)
        title = {"text": plain(self.title), "subtitle": key if self.wide else textwrap.wrap(key, 95)}
        if len(self.drawn) == 1 and not self.wide:
            return self.drawn[0] | {"title": title, "width": WIDTH, "padding": 12}
        columns, spacing = (2, 30) if self.wide else (COLUMNS, 28)
        return beside(self.drawn, columns, spacing) | {"title": title, "padding": 12}


Figures: TypeAlias = list[Figure | Picture]


def with_script(data: object, script: str) -> str:
    """Data as JSON that cannot close its element, and the script of ``template/`` that reads it there."""
    written = json.dumps(data, separators=(",", ":"), ensure_ascii=False).replace("<", "\\u003c")
    code = (files("weft.report") / "template" / script).read_text(encoding="utf-8")
    return f'<script type="application/json">{written}</script><script>{code}</script>'
