# SPDX-License-Identifier: BSD-3-Clause
"""Fastest algorithms of a collective: a tile for each size and process count, coloured by algorithm."""

from collections.abc import Sequence
from typing import Any

import altair as alt

from weft.analyse.tables.answers import WinnerRow
from weft.analyse.tables.sweeps import beats
from weft.format import exact_bytes, measured_factor
from weft.mpi.algorithms import DEFAULT
from weft.report.figures import Figure
from weft.report.figures.theme import BLUE, DARKER, GREEN, INK, ORANGE, RED, chart

KEY = (
    "Colour: the fastest algorithm. Number: its time over that of the library's own choice. "
    "Grey: the library's own choice; no other is significantly faster."
)
TILE = 30
#: Without grey, which is the default's; each dark enough for white numbers.
COLOURS = (BLUE, DARKER[RED], DARKER[GREEN], DARKER[ORANGE], "#a23b8c", INK, "#7c3aed", "#b0305c", "#26789f")


def winner_figure(title: str, found: Sequence[WinnerRow]) -> Figure | None:
    """One panel per call, sizes across and process counts upwards; None if nothing was compared."""
    names = list(dict.fromkeys(winner["call"] for winner in found))
    if not names:
        return None
    algorithms = list(dict.fromkeys(winner["algorithm"] for winner in found if winner["algorithm"] != DEFAULT))
    panels = tuple(_panel(name, [each for each in found if each["call"] == name], algorithms) for name in names)
    return Figure("winners", title, KEY, reading(found), panels)


def _panel(name: str, found: Sequence[WinnerRow], algorithms: Sequence[str]) -> Any:
    rows = [
        {"size": exact_bytes(winner["bytes"]), "shape": _shape(winner), "algorithm": winner["algorithm"]}
        | {"ratio": measured_factor(winner["ratio"]) if winner["algorithm"] != DEFAULT else ""}
        | {"order": winner["bytes"]}
        for winner in found
    ]
    sizes = [exact_bytes(size) for size in sorted({winner["bytes"] for winner in found})]
    largest_first = sorted(found, key=lambda each: (each["ranks"], each["nodes"]), reverse=True)
    shapes = list(dict.fromkeys(map(_shape, largest_first)))
    colours = (COLOURS[index % len(COLOURS)] for index in range(len(algorithms)))
    scale = alt.Scale(domain=[DEFAULT, *algorithms], range=["#d1d5db", *colours])
    here = [name for name in (DEFAULT, *algorithms) if any(row["algorithm"] == name for row in rows)]
    legend = alt.Legend(orient="bottom", columns=3, symbolType="square", labelLimit=220, title=None, values=here)
    x = alt.X("size:N", sort=sizes, title=None, axis=alt.Axis(labelAngle=-60, labelOverlap=False))
    base = chart(rows).encode(x=x, y=alt.Y("shape:N", sort=shapes, title=None))
    tooltip = [alt.Tooltip(f"{field}:N") for field in ("size", "shape", "algorithm", "ratio")]
    colour = alt.Color("algorithm:N", scale=scale, legend=legend)
    title = alt.TitleParams(f"MPI_{name.capitalize()}", fontSize=12, anchor="middle")
    return alt.layer(
        base.mark_rect(stroke="white", strokeWidth=2).encode(color=colour, tooltip=tooltip),
        base.mark_text(fontSize=9, color="white", fontWeight="bold").encode(text="ratio:N"),
    ).properties(width=max(180, TILE * len(sizes)), height=max(60, 30 * len(shapes)), title=title)


def _shape(winner: WinnerRow) -> str:
    return f"p = {winner['ranks']}" + (f", N = {winner['nodes']}" if winner["nodes"] > 1 else "")


def reading(found: Sequence[WinnerRow]) -> str:
    """How often the library's own choice is beaten, and where most."""
    beaten = [winner for winner in found if beats(winner)]
    if not beaten:
        return f"No algorithm is significantly faster than the library's own choice at any of {len(found)} points."
    best = min(beaten, key=lambda winner: winner["ratio"])
    most = f"{exact_bytes(best['bytes'])} of MPI_{best['call'].capitalize()}, {_shape(best)}"
    text = f"The library's own choice is beaten at {len(beaten)} of {len(found)} points, most at {most}: "
    return text + f"{best['algorithm']} takes {measured_factor(best['ratio'])} of its time."
