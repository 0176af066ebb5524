# SPDX-License-Identifier: BSD-3-Clause
"""One outlier of all sizes: what is sure at one size is not in doubt because another hardly shows it."""

import pytest

from weft.analyse.outliers.outlier import Outlier, Sighting, merge_outliers


def seen(size: int, factor: float, *, doubted: bool) -> Outlier:
    return Outlier("node", "n17", "both", (Sighting(size, "all", factor),), 46, (), doubted=doubted)


@pytest.mark.parametrize("order", [1, -1])
def test_an_outlier_that_is_sure_at_one_size_keeps_what_is_sure(order: int) -> None:
    (one,) = merge_outliers([seen(8, 1.12, doubted=True), seen(2**20, 2.0, doubted=False)][::order])
    assert not one.doubted
    assert [(each.bytes, each.factor) for each in one.sightings] == [(2**20, 2.0)]


@pytest.mark.parametrize("doubted", [True, False])
def test_outliers_that_are_alike_in_doubt_keep_all_sizes(doubted: bool) -> None:
    (one,) = merge_outliers([seen(8, 1.12, doubted=doubted), seen(2**20, 1.2, doubted=doubted)])
    assert one.doubted is doubted
    assert [each.bytes for each in one.sightings] == [8, 2**20]
