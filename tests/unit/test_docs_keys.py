# SPDX-License-Identifier: BSD-3-Clause
"""Keys of each topology stand on a page of the docs."""

from pathlib import Path

import pytest

from weft.fabric.network.sections import DragonflySection, TorusSection, TreeSection

PAGE = Path(__file__).parents[2] / "docs" / "simulated.md"


@pytest.mark.parametrize(
    ("name", "section"), [("tree", TreeSection), ("dragonfly", DragonflySection), ("torus", TorusSection)]
)
def test_every_key_of_a_topology_is_documented(name: str, section: type[TreeSection]) -> None:
    text = PAGE.read_text()
    assert [key for key in section.model_fields if f"`network.{name}.{key}`" not in text] == []
