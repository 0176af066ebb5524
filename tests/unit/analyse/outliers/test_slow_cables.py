# SPDX-License-Identifier: BSD-3-Clause
"""Slow cables in trees of several spines: the outlier, its direction, and nobody else.

A seed for each tree and case; ``bench/cables.py`` draws fifty of each.
"""

from pathlib import Path

import pyarrow as pa
import pytest

from made.attributed import outliers_of, planted_outliers
from made.cables import CASES, TREES, ends, planted, tree, uplinks
from made.pairs import Faults


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize(
    ("spines", "levels"), [*TREES[:2], *(pytest.param(*each, marks=pytest.mark.long) for each in TREES[2:])]
)
def test_a_slow_cable_is_named_in_its_direction_and_nobody_else_is(
    tmp_path: Path, spines: int, levels: int, case: str
) -> None:
    cluster = tree(spines, levels)
    made = planted(cluster, case, seed=spines)
    assert {outlier.title for outlier in planted_outliers(tmp_path, cluster, made.faults, spines)} == made.titles


@pytest.mark.parametrize("seed", [2, 3, 6])
def test_two_slow_links_of_a_tree_with_one_spine_are_not_taken_for_the_ways_of_a_leaf(
    tmp_path: Path, seed: int
) -> None:
    made = planted(tree(1, 2), "two links", seed)
    assert {outlier.title for outlier in planted_outliers(tmp_path, tree(1, 2), made.faults, seed)} == made.titles


@pytest.mark.parametrize("spines", [2, 4])
def test_each_direction_of_a_cable_has_its_own_factor(tmp_path: Path, spines: int) -> None:
    cluster = tree(spines, 2)
    up = uplinks(cluster)[-1]
    leaf, spine = ends(cluster, up)
    (found,) = planted_outliers(tmp_path, cluster, Faults(links={up: 3.0, up ^ 1: 1.5}), 1, forward=False)
    assert found.factor == pytest.approx((3.0 + 1.5) / 2, rel=0.05)
    assert found.detail.startswith("in both directions (")
    told = {name: float(x) for name, x in _told(found.detail)}
    assert told == pytest.approx({f"{leaf} -> {spine}": 3.0, f"{spine} -> {leaf}": 1.5}, rel=0.05)


def _told(detail: str) -> list[tuple[str, str]]:
    """Links and their factors in words."""
    parts = detail[detail.index("(") + 1 : -1].split(", ")
    return [(part.removesuffix(" x").rpartition(" ")[0], part.removesuffix(" x").rpartition(" ")[2]) for part in parts]


def test_a_slow_spine_is_one_culprit_though_pairs_cross_it_in_one_direction_only(tmp_path: Path) -> None:
    cluster = tree(4, 2)
    into = [link for link in uplinks(cluster) if ends(cluster, link)[1] == "pod0-spine1"]
    assert len(into) == 8
    (found,) = planted_outliers(tmp_path, cluster, Faults(links=dict.fromkeys(into, 2.0)), 1)
    assert found.title == "switch pod0-spine1"


def test_a_cable_slow_both_ways_at_one_size_and_one_way_at_another_is_one_outlier(tmp_path: Path) -> None:
    cluster = tree(4, 2)
    up = uplinks(cluster)[5]
    small, large = Faults(links={up: 1.6, up ^ 1: 1.1}), Faults(links={up: 2.5, up ^ 1: 1.6})
    table = pa.concat_tables([cluster.pairs(small, 1, sizes=(0,)), cluster.pairs(large, 2, sizes=(262_144,))])
    (found,) = outliers_of(tmp_path, cluster, table)
    assert found.title == f"cable {' - '.join(ends(cluster, up & ~1))}"
    assert {seen.bytes for seen in found.sightings} == {0, 262_144}
