# SPDX-License-Identifier: BSD-3-Clause
"""Figures: a `Picture` is drawn, a `Figure` (`weft.report.figures.theme`) made of charts."""

import json
from dataclasses import dataclass
from importlib.resources import files


@dataclass(frozen=True)
class Picture:
    """One drawn figure of the report; `weft.report.figures.theme.Figure` is one made of charts."""

    name: str  # name of its files, without ending
    # title, key, reading: as for a `Figure`: what it shows, how to read the marks, its result in one sentence
    title: str
    key: str
    reading: str
    # the drawing: one ``<svg>`` element with a ``viewBox``, inserted into the page unchanged, so its maker must escape
    # every text. Identifiers inside (gradients, clips) must be unique on the page: start them with the name. A raster
    # is an ``<image>`` whose ``href`` is a ``data:`` address.
    svg: str
    # markup after the drawing, on the page only (a tooltip's script, a list), also escaped by its maker
    extra_html: str = ""


def with_script(data: object, script: str) -> str:
    """Data as JSON that cannot close its element, and the script of ``template/`` that reads it there."""
    written = json.dumps(data, separators=(",", ":"), ensure_ascii=False).replace("<", "\\u003c")
    code = (files("weft.report") / "template" / script).read_text(encoding="utf-8")
    return f'<script type="application/json">{written}</script><script>{code}</script>'
