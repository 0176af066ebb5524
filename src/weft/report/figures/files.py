# SPDX-License-Identifier: BSD-3-Clause
"""Figures as SVG, PDF and PNG, without a browser."""

import json
from collections.abc import Callable, Collection, Iterable
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


FORMATS = ("svg", "pdf", "png")


def write_figures(figures: Iterable[Figure | Picture], folder: Path, formats: Collection[str] = FORMATS) -> list[Path]:
    """Write each figure as ``<name>.svg``, ``.pdf`` and ``.png``, or some of them, and return the paths.

    Raises DataError: The folder cannot be written.
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
        makers: dict[str, Callable[[str], bytes]] = {
            "svg": str.encode,
            # from the SVG: Vega need not lay the figure out again
            "pdf": vl_convert.svg_to_pdf,
            "png": lambda drawn: vl_convert.svg_to_png(drawn, scale=PNG_SCALE),
        }
        for ending in (each for each in FORMATS if each in formats):
            path = folder / f"{figure.name}.{ending}"
            write_atomic(path, makers[ending](svg))
            written.append(path)
    return written
