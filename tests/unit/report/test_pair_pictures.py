# SPDX-License-Identifier: BSD-3-Clause
"""Matrices of pairs: a slow pair keeps its colour at any size, and the page stays small."""

import base64
import io
import re

import numpy as np
import pytest
from PIL import Image

from weft.report.figures.matrix import (
    MOST_POINTS,
    STEPS,
    PairMatrix,
    Scale,
    block_maximum,
    matrix_picture,
    palette,
    png,
    scale_of,
)

MICROSECONDS = ("us", 1e-6)


def colours(content: bytes) -> np.ndarray:
    return np.asarray(Image.open(io.BytesIO(content)))


def test_one_slow_pair_among_sixteen_million_is_seen_in_the_smallest_picture() -> None:
    times = np.full((4096, 4096), 2e-6)
    times[1234, 3210] = 9e-6
    small = block_maximum(times, MOST_POINTS)
    assert small.shape == (MOST_POINTS, MOST_POINTS)
    assert small[1234 // 8, 3210 // 8] == 9e-6
    indices = colours(png(scale_of(small, 2.5e-6).indices(small)))
    assert indices[1234 // 8, 3210 // 8] == STEPS[0] + STEPS[1]  # the darkest
    assert (indices > STEPS[0]).sum() == 1


def test_blocks_need_not_divide_the_ranks_and_holes_stay_holes() -> None:
    times = np.full((5, 5), np.nan)
    times[4, 4], times[0, 1] = 3.0, 1.0
    assert np.array_equal(
        block_maximum(times, 3), [[1, np.nan, np.nan], [np.nan] * 3, [np.nan, np.nan, 3]], equal_nan=True
    )


def test_usual_times_are_blue_slow_ones_are_not_and_nothing_is_grey() -> None:
    scale = Scale(1.0, 2.0, 8.0)
    indices = scale.indices(np.array([np.nan, 1.0, 2.0, 2.01, 8.0, 100.0]))
    assert indices.tolist() == [0, 1, STEPS[0], STEPS[0] + 1, sum(STEPS), sum(STEPS)]
    red, _, blue = palette()[STEPS[0]].tolist()
    assert blue > red
    red, _, blue = palette()[STEPS[0] + 1].tolist()
    assert red > blue
    assert len(palette()) == 256


def test_a_scale_of_equal_or_of_no_numbers_does_not_fail() -> None:
    assert scale_of(np.full((2, 2), 3.0), 1.0) == Scale(3.0, 3.0, 3.0)
    assert scale_of(np.full((2, 2), np.nan), 1.0).indices(np.full((2, 2), np.nan)).tolist() == [[0, 0], [0, 0]]


@pytest.mark.parametrize("ranks", [1024, 4096])
def test_a_matrix_of_many_ranks_is_small_and_names_its_nodes(ranks: int) -> None:
    rng = np.random.default_rng(1)
    blocks = 2e-6 * np.exp(0.05 * rng.standard_normal((512, 512)))
    nodes = [f"n{node}" for node in range(ranks // 16)]
    told = np.full((len(nodes), len(nodes)), 2e-6)
    shown = PairMatrix(
        blocks, [16] * len(nodes), nodes, told, scale_of(blocks, 2.2e-6), MICROSECONDS, "median", ranks // 512
    )
    picture = matrix_picture("latency", "Latency", "key", "reading", shown)
    assert len(picture.svg) + len(picture.extra_html) < 1_500_000
    image = re.search(r'href="data:image/png;base64,([^"]+)"', picture.svg)
    assert image
    assert colours(base64.b64decode(image[1])).shape == (512, 512)
    assert 3 <= picture.svg.count('text-anchor="end"') <= 17
    assert '"n63"' in picture.extra_html


def test_names_from_a_cluster_cannot_break_out_of_the_page() -> None:
    names = ["<b>&", "</script><script>alert(1)"]
    shown = PairMatrix(np.ones((2, 2)), [1, 1], names, np.ones((2, 2)), Scale(1, 1, 1), ("x", 1.0), "factor")
    picture = matrix_picture("latency", "Latency", "key", "reading", shown)
    assert "<b>" not in picture.svg
    assert "alert(1)" in picture.extra_html
    assert "</script><script>alert" not in picture.extra_html
