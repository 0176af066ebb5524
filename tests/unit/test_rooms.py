# SPDX-License-Identifier: BSD-3-Clause
"""The house stands: rooms import downwards only, and nothing stands in a circle. tests/rooms.toml lists the rooms."""

from pathlib import Path

import pytest

from made.rooms import BEGIN, CONTRIBUTING, END, House, Import, circles, drawing, imports_of, modules_of, read_house

HOUSE = read_house()


@pytest.fixture(scope="module")
def imports() -> list[Import]:
    """Every import of the house; not made when tests are only collected, which each worker does."""
    return list(imports_of())


@pytest.fixture(scope="module")
def between(imports: list[Import]) -> list[Import]:
    """Those of one room by another."""
    return [each for each in imports if each.rooms[0] != each.rooms[1]]


def upwards(imports: list[Import], house: House = HOUSE) -> list[str]:
    """Imports of a room that is not below."""
    return [
        str(each)
        for each in imports
        if each.rooms[0] != each.rooms[1] and house.floor(each.rooms[1]) <= house.floor(each.rooms[0])
    ]


def test_every_room_is_listed_once() -> None:
    listed = [room for floor in HOUSE.floors for room in floor]
    assert len(listed) == len(set(listed))
    assert {name.partition(".")[0] for name in modules_of()} - set(listed) == set()


def test_a_room_imports_only_rooms_below_it_lazily_or_not(imports: list[Import]) -> None:
    assert upwards(imports) == []


def test_no_more_imports_between_rooms_are_lazy_than_there_were(between: list[Import]) -> None:
    lazy = sorted({str(each) for each in between if each.kind in ("lazy", "named") and each.rooms[0] != "cli"})
    assert len(lazy) <= HOUSE.most_lazy, f"{len(lazy)}: import at the top, or say why not:\n" + "\n".join(lazy)


def test_no_rooms_stand_in_a_circle(between: list[Import]) -> None:
    assert circles(each.rooms for each in between) == []


def test_no_files_stand_in_a_circle(imports: list[Import]) -> None:
    assert circles((each.source, each.target) for each in imports if each.kind in ("eager", "lazy")) == []


def test_contributing_draws_the_house_as_it_is_listed() -> None:
    drawn = CONTRIBUTING.read_text().partition(BEGIN)[2].partition(END)[0]
    assert drawn.strip("\n") == drawing(HOUSE).strip("\n"), "run: cd tests && python -m made.rooms"


@pytest.fixture
def small(tmp_path: Path) -> Path:
    """A house of three rooms in order."""
    for name in ("roof/tiles.py", "roof/beam.py", "hall/door.py", "cellar.py"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("")
    (tmp_path / "roof/tiles.py").write_text("from weft import cellar\nfrom weft.hall import door\n")
    return tmp_path


SMALL = House(({"roof": ""}, {"hall": ""}, {"cellar": ""}), 0)


@pytest.mark.parametrize(
    "planted",
    [
        "from weft.roof.tiles import tile",
        "from weft.roof import tiles",
        "from weft import roof",
        "import weft.roof.tiles",
        "def f():\n    from weft.roof.tiles import tile",
        "ROOFS = {'tiles': 'weft.roof.tiles'}",
        "ROOFS = {'tiles': 'weft.roof.tiles:tile'}",
        "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from weft.roof.tiles import Tile",
    ],
)
def test_an_import_upwards_is_seen_however_it_is_written(small: Path, planted: str) -> None:
    assert upwards(list(imports_of(small)), SMALL) == []
    (small / "hall/door.py").write_text(planted + "\n")
    assert len(upwards(list(imports_of(small)), SMALL)) == 1


def test_a_lazy_import_is_told_from_an_eager_one_and_from_one_for_types(small: Path) -> None:
    (small / "roof/beam.py").write_text(
        "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    import weft.hall.door\n"
        "def f():\n    import weft.cellar\n"
    )
    found = {each.target: each.kind for each in imports_of(small) if each.source == "roof.beam"}
    assert found == {"hall.door": "types", "cellar": "lazy"}


def test_a_circle_of_files_within_a_room_is_seen(small: Path) -> None:
    (small / "roof/beam.py").write_text("def f():\n    from weft.roof import tiles\n")
    assert circles((each.source, each.target) for each in imports_of(small)) == []
    (small / "roof/tiles.py").write_text("from weft.roof.beam import f\n")
    assert circles((each.source, each.target) for each in imports_of(small)) == [{"roof.beam", "roof.tiles"}]


def test_a_circle_of_three_rooms_is_seen() -> None:
    assert circles([("a", "b"), ("b", "c")]) == []
    assert circles([("a", "b"), ("b", "c"), ("c", "a"), ("d", "a")]) == [{"a", "b", "c"}]
