# SPDX-License-Identifier: BSD-3-Clause
"""The drawing of a fabric, with cables coloured by load under one engine."""

from pathlib import Path

from weft.fabric.drawing.drawing import draw, save
from weft.route.compare import Comparison
from weft.route.show import verdict

EVEN_SCALE = 2.0  # the most loaded cable gets the last colour, unless all loads are low
LABEL = "all-to-all: time of a cable over that of a host's own link"


def draw_engine(found: Comparison, title: str, path: Path) -> None:
    """Draw the first engine of a comparison into a file (.svg, .png, .html or .json).

    Raises
    ------
    FabricError
        The name has another extension, or the file cannot be written.
    """
    engine = found.engines[0]
    time = engine.score.time
    scale = (0.0, 1.0, max(EVEN_SCALE, float(time.max(initial=0))))
    save(draw(engine.routes.network, f"{title}, {engine.name}", verdict(found), time, LABEL, scale=scale), path)
