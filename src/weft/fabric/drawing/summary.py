# SPDX-License-Identifier: BSD-3-Clause
"""The drawing of a fabric, its cables coloured by their load in an all-to-all, and tables of presets."""

from typing import TYPE_CHECKING

import numpy as np
from rich.table import Table

from weft.fabric.drawing.describe import rate, sizes
from weft.fabric.drawing.drawing import draw
from weft.fabric.loads import relative_times
from weft.fabric.model import Fabric
from weft.fabric.presets import SECTIONS, Preset, presets
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


COLUMNS = {
    "node": ("sockets", "cores", "copy_rate", "latency"),
    "network": ("adapter_rate", "latency", "link_latency", "transport"),
}


def preset_tables() -> list[Table]:
    """A table for each section; FabricError if a shipped file cannot be read."""
    return [_table(section, presets(section)) for section in SECTIONS]


def _table(section: str, known: tuple[Preset, ...]) -> Table:
    caption = (
        "copy_rate is worked out from the memory's data sheet" if section == "node" else "rates count data, one way"
    )
    table = Table(title=f"[{section}] preset = ...", title_justify="left", caption=caption, box=None, pad_edge=False)
    for name in ("preset", *COLUMNS[section]):
        table.add_column(name, overflow="fold")
    for each in known:
        table.add_row(each.name, *(str(each.values.get(key, "-")) for key in COLUMNS[section]))
    return table
