# SPDX-License-Identifier: BSD-3-Clause
"""The rooms of ``native/measure`` include only what stands below them; only ``interference`` knows other kernels."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

MEASURE = Path(__file__).parents[2] / "native" / "measure"
#: Floors from the ground up. A room may include itself and the floors below; rooms of one floor not each other.
FLOORS = (
    {"mpi"},
    {"host"},
    {"time"},
    {"sample"},
    {"record"},
    {"cell"},
    {"breakdown"},
    {"bandwidth", "collective", "exchange", "floor", "pairs", "probe", "replay"},
    {"interference"},
    {"launch", "own"},
)
FLOOR_OF = {room: number for number, rooms in enumerate(FLOORS) for room in rooms}
#: The simulated platform stands on the simulator's memory and machine, which belong to the other build; a measured
#: all-to-all may be one of native/alltoall.
OUTSIDE = {
    ("host/platform_simulated.cpp", "../../simulate/ranks/folded_memory.hpp"),
    ("host/platform_simulated.cpp", "../../simulate/ranks/machine.hpp"),
    ("mpi/all_to_all.cpp", "../../alltoall/call.hpp"),
    *(("own/own_all_to_all.cpp", f"../../alltoall/{name}.hpp") for name in ("choice", "error", "state", "texts")),
}
_INCLUDE = re.compile(r'^#include "([^"]+)"', re.MULTILINE)


def included(file: Path) -> list[str]:
    """Paths that a file includes in quotation marks."""
    return _INCLUDE.findall(file.read_text())


def forbidden(room: str, path: str) -> bool:
    """Whether a file of the room may not include the path."""
    other = path.partition("/")[0]
    if other == "common":  # beside them, for all of native/
        return False
    return other not in FLOOR_OF or (other != room and FLOOR_OF[other] >= FLOOR_OF[room])


def test_each_file_stands_in_a_room() -> None:
    files = [path for path in MEASURE.rglob("*.?pp") if "/" in str(path.relative_to(MEASURE))]
    assert len(files) == len(list(MEASURE.rglob("*.?pp"))) > 100
    assert {path.relative_to(MEASURE).parts[0] for path in files} == set(FLOOR_OF)
    assert all(len(path.relative_to(MEASURE).parts) == 2 for path in files)


@pytest.mark.parametrize("room", sorted(FLOOR_OF))
def test_a_room_includes_only_rooms_below(room: str) -> None:
    wrong = [
        f"{room}/{file.name} includes {path}"
        for file in sorted((MEASURE / room).iterdir())
        for path in included(file)
        if (f"{room}/{file.name}", path) not in OUTSIDE and forbidden(room, path)
    ]
    assert not wrong, f"native/measure: {wrong}; move what both need to a lower room"


@pytest.mark.parametrize(
    ("room", "path", "wrong"),
    [
        ("time", "sample/stop_rule.hpp", True),
        ("pairs", "exchange/proof.hpp", True),
        ("host", "platform.hpp", True),
        ("time", "time/clock.hpp", False),
        ("pairs", "cell/cell.hpp", False),
        ("launch", "cell/cell.hpp", False),
    ],
)
def test_the_rule_tells_up_from_down(room: str, path: str, wrong: bool) -> None:
    assert forbidden(room, path) is wrong


def test_the_tests_stand_in_rooms_of_the_same_names() -> None:
    tests = MEASURE.parent / "tests"
    beside = {"alltoall"}  # a library of its own, with the interposer
    for file in (file for file in tests.rglob("test_*.cpp") if file.parent.name not in beside):
        assert file.parent.name in FLOOR_OF, f"{file.relative_to(tests)}: tests mirror the rooms of native/measure"
    assert not list(tests.glob("test_*.cpp"))


def functions(text: str) -> Iterator[tuple[str, int]]:
    """First line and length of each function, as clang-format lays them out: its braces stand at one depth."""
    lines = text.splitlines()
    for indent in ("", "    "):
        begin = re.compile(indent + r"(?!(?:template <.*> )?(?:class|struct)|namespace|enum|extern|//|[} #])\S.*\{$")
        start = None
        for number, line in enumerate(lines):
            if start is None and begin.match(line):
                start = number
            elif start is not None and line.startswith(indent + "}"):
                yield lines[start].strip(), number - start + 1
                start = None


def test_no_file_is_over_300_lines_and_no_function_over_40() -> None:
    native = MEASURE.parent
    found = 0
    for file in sorted(native.rglob("*.?pp")):
        text, name = file.read_text(), file.relative_to(native)
        assert len(text.splitlines()) <= 300, f"{name} has {len(text.splitlines())} lines"
        for first, length in functions(text):
            found += 1
            assert length <= 40, f"{name}: `{first}` has {length} lines"
    assert found > 500


def test_a_long_function_is_found_on_both_depths() -> None:
    free = "int f() {\n" + "    g();\n" * 3 + "}\n"
    inside = "class A {\n    void f() {\n        g();\n    }\n};\n"
    assert list(functions(free)) == [("int f() {", 5)]
    assert ("void f() {", 3) in list(functions(inside))
