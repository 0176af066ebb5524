# SPDX-License-Identifier: BSD-3-Clause
"""Figures as SVG, PDF and PNG, without a browser."""

import json
from collections.abc import Iterable
from pathlib import Path

from weft.files.atomic import file_errors, write_atomic
from weft.report.figures.picture import Picture
from weft.report.figures.theme import Figure

#: The Vega-Lite version that draws them here and on the page: the newest that both Altair and vl-convert support.
PNG_SCALE = 2


def vegalite_version() -> str:
    """Vega-Lite version of Altair's charts, as vl-convert names it: ``6.4``."""
    import altair
    import vl_convert

    wanted = ".".join(altair.SCHEMA_VERSION.lstrip("v").split(".")[:2])
    known = vl_convert.get_vegalite_versions()
    return wanted if wanted in known else known[-1]


def write_figures(figures: Iterable[Figure | Picture], folder: Path) -> list[Path]:
    """Write each figure as ``<name>.svg``, ``.pdf`` and ``.png`` and return the paths.

    Raises
    ------
    DataError
        The folder cannot be written.
    """
    import vl_convert

    version = vegalite_version()
    written: list[Path] = []
    with file_errors(folder):
        folder.mkdir(parents=True, exist_ok=True)
    for figure in figures:
        if isinstance(figure, Picture):
            svg = figure.svg
        else:
            svg = vl_convert.vegalite_to_svg(json.dumps(figure.whole()), vl_version=version)
        contents = {
            "svg": svg.encode(),
            # from the SVG: Vega need not lay the figure out again
            "pdf": vl_convert.svg_to_pdf(svg),
            "png": vl_convert.svg_to_png(svg, scale=PNG_SCALE),
        }
        for ending, content in contents.items():
            path = folder / f"{figure.name}.{ending}"
            write_atomic(path, content)
            written.append(path)
    return written
