# SPDX-License-Identifier: BSD-3-Clause
"""A matrix of numbers as a PNG: one pixel per number, in colours that separate usual values from slow ones."""

import base64
import struct
import zlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

#: Either part of the colours spans at least this factor: values that differ by less than a percent look alike.
NARROWEST = 1.25
#: From light to dark for usual values, from orange to nearly black for slower ones.
USUAL = ("#f7fbff", "#deebf4", "#b9d5e8", "#7fb2d6", "#3f86bd", "#1c5a96")
SLOW = ("#f6a04d", "#e56a1b", "#c33a0a", "#8a1d05", "#3d0a02")
NOTHING = "#e5e7eb"
#: Palette: index 0 is "not measured", then the usual colours, then the slow ones.
STEPS = (150, 105)


@dataclass(frozen=True)
class Scale:
    """Numbers to colours, by their logarithm."""

    # low, high: smallest and largest number shown
    low: float
    cut: float  # up to here numbers are usual (blue), above they are slow (orange to black)
    high: float

    def indices(self, values: Floats) -> NDArray[np.uint8]:
        """Palette index of each number, shape (rows, columns) as the values (any unit); 0 for nan."""
        with np.errstate(invalid="ignore", divide="ignore"):
            usual = _along(values, self.low, self.cut) * (STEPS[0] - 1) + 1
            slow = _along(values, self.cut, self.high) * (STEPS[1] - 1) + 1 + STEPS[0]
            chosen = np.where(values <= self.cut, usual, slow)
        return np.where(np.isfinite(values), chosen, 0).astype(np.uint8)


def _along(values: Floats, low: float, high: float) -> Floats:
    """0 at low, 1 at high, on a logarithmic scale, clipped."""
    if not high > low > 0:
        return np.zeros(values.shape)
    return np.clip(np.log(values / low) / np.log(high / low), 0, 1)


def scale_of(values: Floats, cut: float) -> Scale:
    """A scale over all values, shape (rows, columns), any unit, that are not nan; usual ones end at ``cut``."""
    known = values[np.isfinite(values) & (values > 0)]
    if not known.size:
        return Scale(1.0, 1.0, 1.0)
    low, high = float(known.min()), float(known.max())
    if high == low:
        return Scale(low, low, low)
    cut = min(max(cut, low), high)
    return Scale(min(low, cut / NARROWEST), cut, high if high <= cut else max(high, cut * NARROWEST))


def mix_colours(colours: Sequence[str], steps: int) -> NDArray[np.uint8]:
    """So many colours between ``#rrggbb``, shape (steps, 3): red, green and blue from 0 to 255."""
    anchors = np.array([[int(colour[i : i + 2], 16) for i in (1, 3, 5)] for colour in colours], float)
    places = np.linspace(0, len(colours) - 1, steps)
    channels = [np.interp(places, np.arange(len(colours)), anchors[:, channel]) for channel in range(3)]
    return np.stack(channels, axis=1).round().astype(np.uint8)


def palette() -> NDArray[np.uint8]:
    """All colours, shape (256, 3), by palette index: red, green and blue from 0 to 255."""
    nothing = np.array([[int(NOTHING[i : i + 2], 16) for i in (1, 3, 5)]], np.uint8)
    return np.concatenate([nothing, mix_colours(USUAL, STEPS[0]), mix_colours(SLOW, STEPS[1])])


def png(indices: NDArray[np.uint8]) -> bytes:
    """Palette indices, shape (rows, columns), as a PNG of one pixel each."""
    return _png(indices, palette())


def png_of_colours(indices: NDArray[np.uint8], colours: Iterable[tuple[str, int]]) -> bytes:
    """Indices, shape (rows, columns), as a PNG: 0 is transparent, then come ``#rrggbb`` and an opacity to 255."""
    listed = [("#000000", 0), *colours]
    red_green_blue = np.array([list(bytes.fromhex(colour[1:])) for colour, _ in listed], np.uint8)
    return _png(indices, red_green_blue, bytes(opacity for _, opacity in listed))


def _png(indices: NDArray[np.uint8], colours: NDArray[np.uint8], opacity: bytes = b"") -> bytes:
    """A PNG with a palette: colours of shape (colours, 3), and the opacity of the first of them."""
    rows, columns = indices.shape
    lines = np.zeros((rows, columns + 1), np.uint8)  # each begins with the number of its filter: none
    lines[:, 1:] = indices
    parts = {b"IHDR": struct.pack(">2I5B", columns, rows, 8, 3, 0, 0, 0), b"PLTE": colours.tobytes()}
    parts |= {b"tRNS": opacity} if opacity else {}
    parts |= {b"IDAT": zlib.compress(lines.tobytes(), 9), b"IEND": b""}
    framed = (struct.pack(">I", len(of)) + name + of + struct.pack(">I", zlib.crc32(name + of))
              for name, of in parts.items())  # fmt: skip
    return b"\x89PNG\r\n\x1a\n" + b"".join(framed)


def data_address(content: bytes) -> str:
    """A PNG as a ``data:`` URL."""
    return "data:image/png;base64," + base64.b64encode(content).decode()


def block_maximum(values: Floats, most: int) -> Floats:
    """At most ``most`` rows and columns: each value the maximum of its block, nan only if the whole block is.

    Values and result have shapes (rows, columns), any unit. Never a mean: one slow pair in a block of sixteen must
    still have the colour of a slow pair.
    """
    block = -(-max(values.shape) // most)
    if block <= 1:
        return values
    rows, columns = (-(-side // block) * block for side in values.shape)
    padded = np.full((rows, columns), np.nan)
    padded[: values.shape[0], : values.shape[1]] = values
    return np.fmax.reduce(np.fmax.reduce(padded.reshape(rows // block, block, columns // block, block), axis=3), axis=1)
