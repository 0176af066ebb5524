# SPDX-License-Identifier: BSD-3-Clause
"""Which nodes a cell gets."""

import pytest

from weft.fabric import Fabric, load_fabric
from weft.fabric.placement import NoRoomError, leaves, place

TARA = load_fabric("tara")
GROUPS = {3: "port-group", 9: "row", 18: "leaf", 36: "two-leaves"}


def test_a_compact_cell_gets_the_first_nodes() -> None:
    assert place(TARA, "compact", 3) == ("n37", "n38", "n39")


def test_a_cell_gets_the_group_named_for_its_number_of_nodes() -> None:
    assert place(TARA, GROUPS, 9) == TARA.hosts[:9]
    assert place(TARA, GROUPS, 36) == TARA.hosts
    assert place(TARA, {2: "row"}, 2) == ("n37", "n38")


def test_a_number_of_nodes_without_a_group_is_placed_compactly() -> None:
    assert place(TARA, GROUPS, 2) == ("n37", "n38")


def test_a_cell_gets_nodes_named_by_a_node_set() -> None:
    assert place(TARA, "n[55-58]", 2) == ("n55", "n56")


@pytest.mark.parametrize(
    ("wanted", "nodes", "said"),
    [
        ("compact", 37, "37 nodes asked for, fabric tara has 36"),
        ("n[55-58]", 5, "5 nodes asked for, placement.nodes = 'n\\[55-58\\]' names 4"),
        ("m[1-4]", 2, "no node m1"),
        ({9: "port-group"}, 9, "group port-group of fabric tara has 3"),
        ({9: "pod"}, 9, "no group 'pod' for 9 nodes .groups: port-group, row, leaf, two-leaves"),
    ],
)
def test_what_the_fabric_cannot_place_has_a_reason(wanted: str | dict[int, str], nodes: int, said: str) -> None:
    with pytest.raises(NoRoomError, match=said):
        place(TARA, wanted, nodes)


def test_leaves_hold_the_fabrics_nodes_in_order() -> None:
    under = leaves(TARA, ("n72", "n37", "n54", "n55"))
    assert under == {1: [0, 3], 0: [1, 2]}


def test_a_star_is_one_leaf() -> None:
    star = Fabric.model_validate(
        {"name": "s", "kind": "virtual", "node": {"names": "a[1-3]", "cores": 1}, "network": {"topology": "star"}}
    )
    assert leaves(star, star.hosts) == {0: [0, 1, 2]}
