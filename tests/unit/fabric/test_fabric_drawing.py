# SPDX-License-Identifier: BSD-3-Clause
"""Drawings: every box and cable is in them, in few enough shapes, and every format is written."""

from itertools import combinations
from pathlib import Path

import pytest
from hypothesis import given, settings

from made.networks import names, networks
from weft.errors import FabricError
from weft.fabric.drawing.drawing import draw, save
from weft.fabric.drawing.layout import boxes
from weft.fabric.drawing.sketch import sketch
from weft.fabric.loads import all_to_all_loads, relative_times
from weft.fabric.network.build import dragonfly
from weft.fabric.network.graph import Network
from weft.fabric.network.sections import DragonflySection, TreeSection
from weft.fabric.network.tree import fat_tree


def yellowstone() -> Network:
    shape = TreeSection.model_construct(
        nodes_per_leaf=18, uplinks=18, spines=9, leaves=265, leaves_per_pod=9, pod_uplinks=162, link_rate=1e9
    )
    return fat_tree(names(4518), shape, rate=1e9)


@settings(max_examples=60, deadline=None)
@given(networks())
def test_every_switch_host_and_cable_is_drawn_once(network: Network) -> None:
    made = boxes(network)
    assert sorted(s for box in made for s in box.switches) == list(range(len(network.switches)))
    assert sorted(h for box in made for h in box.hosts) == list(range(len(network.hosts)))
    plan = sketch(network)
    if len(plan.places) == len(network.switches):  # nothing put together: then no cable is inside a box
        assert sum(line.cables for line in plan.lines) == int(network.switch_links.sum()) // 2


@settings(max_examples=60, deadline=None)
@given(networks())
def test_boxes_do_not_overlap_and_stay_on_the_page(network: Network) -> None:
    plan = sketch(network)
    for i, one in enumerate(plan.places):
        assert -60 <= one.x <= plan.width + 60
        assert 0 <= one.y <= plan.height
        for other in plan.places[i + 1 :]:
            apart_x = abs(one.x - other.x) >= (one.width + other.width) / 2 - 1e-9
            apart_y = abs(one.y - other.y) >= (one.height + other.height) / 2 - 1e-9
            assert apart_x or apart_y, (one, other)


@pytest.mark.parametrize("groups", [1, 2, 9, 33, 120])
def test_the_groups_of_a_dragonfly_do_not_overlap(groups: int) -> None:
    shape = DragonflySection.model_construct(
        nodes_per_router=1, routers_per_group=4, global_links=40, local_rate=1e9, global_rate=1e9
    )
    plan = sketch(dragonfly(names(4 * groups), shape, rate=1e9))
    assert len(plan.places) == groups
    assert sum(len(p.names) > 0 for p in plan.places) == groups
    for one, other in combinations(plan.places, 2):
        assert abs(one.x - other.x) >= one.width or abs(one.y - other.y) >= one.height


def test_thousands_of_hosts_become_few_boxes_by_pod() -> None:
    plan = sketch(yellowstone())
    assert len(plan.places) <= 32 + 32 + 12
    assert sum(line.cables for line in plan.lines) == 4770 + 4860
    assert [text for _, text, _ in plan.rows] == ["265 leaves", "270 spines", "162 cores"]


def test_a_line_shows_the_hottest_of_its_cables_not_their_mean() -> None:
    network = yellowstone()
    values = relative_times(network, all_to_all_loads(network))
    values[:] = 0.1
    hot = int(network.switch_links.nonzero()[0][5])
    values[hot] = 7.0
    assert max(line.value for line in sketch(network, values).lines) == 7.0


@pytest.mark.parametrize("ending", [".svg", ".png", ".html", ".json"])
def test_a_drawing_is_written_in_every_format(ending: str, tmp_path: Path) -> None:
    network = fat_tree(names(4), TreeSection.model_construct(nodes_per_leaf=2, uplinks=1, link_rate=1e9), rate=1e9)
    path = tmp_path / f"tree{ending}"
    save(draw(network, "a tree", "of two leaves", relative_times(network, all_to_all_loads(network)), "load"), path)
    content = path.read_bytes()
    start = {".svg": b"<svg", ".png": b"\x89PNG", ".html": b"<!DOCTYPE html>", ".json": b"{"}[ending]
    assert content.startswith(start)
    if ending == ".svg":
        for text in (b"leaf0", b"spine0", b"2 hosts", b"a tree", b"of two leaves"):
            assert text in content


def test_a_page_of_its_own_needs_nothing_from_the_net(tmp_path: Path) -> None:
    network = fat_tree(names(2), TreeSection.model_construct(nodes_per_leaf=1, uplinks=1, link_rate=1e9), rate=1e9)
    save(draw(network, "t"), tmp_path / "t.html")
    assert 'src="http' not in (tmp_path / "t.html").read_text()


def test_an_unknown_format_is_refused(tmp_path: Path) -> None:
    network = fat_tree(names(2), TreeSection.model_construct(nodes_per_leaf=1, uplinks=1, link_rate=1e9), rate=1e9)
    with pytest.raises(FabricError, match=r"no format '\.bmp'"):
        save(draw(network, "t"), tmp_path / "t.bmp")
