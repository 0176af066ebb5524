# SPDX-License-Identifier: BSD-3-Clause
"""The drawing of a fabric, with cables coloured by load under one engine."""

from pathlib import Path
from typing import TYPE_CHECKING

from weft.fabric.drawing.drawing import draw, save
from weft.route.compare import Comparison, Engine
from weft.route.show import verdict

if TYPE_CHECKING:
    import altair

EVEN_SCALE = 2.0  # the most loaded cable gets the last colour, unless all loads are low
LABEL = "all-to-all: time of a cable over that of a host's own link"


def drawing(found: Comparison, engine: Engine, title: str) -> "altair.LayerChart":
    """The drawing of the network, with cables coloured by their time in an all-to-all under an engine."""
    time = engine.score.time
    scale = (0.0, 1.0, max(EVEN_SCALE, float(time.max(initial=0))))
    return draw(engine.routes.network, f"{title}, {engine.name}", verdict(found), time, LABEL, scale=scale)


def draw_engine(found: Comparison, title: str, path: Path) -> None:
    """Draw the first engine of a comparison into a file (.svg, .png, .json); FabricError if that is impossible."""
    save(drawing(found, found.engines[0], title), path)
