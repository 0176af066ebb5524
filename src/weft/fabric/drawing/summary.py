# SPDX-License-Identifier: BSD-3-Clause
"""The drawing of a fabric, with its cables coloured by their load in an all-to-all."""

from typing import TYPE_CHECKING

import numpy as np

from weft.fabric.drawing.describe import rate, sizes
from weft.fabric.drawing.drawing import draw
from weft.fabric.loads import relative_times
from weft.fabric.model import Fabric
from weft.fabric.summary import Summary
from weft.format import format_factor

if TYPE_CHECKING:
    from altair import LayerChart


def draw_summary(summary: Summary, fabric: Fabric) -> "LayerChart":
    """The drawing of a fabric, its cables coloured by their time in an all-to-all."""
    network, cut, hot = summary.network, summary.bisection, summary.hottest
    subtitle = sizes(summary)
    if np.isfinite(cut.rate) and summary.hosts > 1:
        subtitle += f"; bisection {rate(cut.rate)} ({format_factor(100 * cut.share)} % of full)"
    if hot is not None and np.isfinite(hot.rate_per_host):
        subtitle += f"; all-to-all {rate(hot.rate_per_host)} a host"
    named = fabric.title.lower().startswith(fabric.name.lower())
    title = fabric.title if named else f"{fabric.name}: {fabric.title}".removesuffix(": ")
    values = relative_times(network, summary.loads)
    return draw(network, title, subtitle, values, "all-to-all: time of a cable over that of a host's own link")
