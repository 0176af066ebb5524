# SPDX-License-Identifier: BSD-3-Clause
"""A figure that is no chart: a drawing or raster as SVG, and what may stand under it on the page."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Picture:
    """One drawn figure of the report; `weft.report.figures.theme.Figure` is one made of charts.

    Attributes
    ----------
    name
        Name of its files, without ending.
    title, key, reading
        As a figure's: what is seen, how to read the marks, what it says in one sentence.
    svg
        The drawing, one ``<svg>`` element with a ``viewBox``, every text in it escaped by its maker: it is set into
        the page as it stands. Identifiers inside (gradients, clips) must be unique on the page: begin them with the
        name. A raster is an ``<image>`` whose ``href`` is a ``data:`` address.
    extra_html
        Markup that follows the drawing on the page only (a tooltip's script, a list), escaped likewise.
    """

    name: str
    title: str
    key: str
    reading: str
    svg: str
    extra_html: str = ""
