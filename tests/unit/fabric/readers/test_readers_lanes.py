# SPDX-License-Identifier: BSD-3-Clause
"""Service levels and lanes as saquery and smpquery print them."""

from pathlib import Path

import pytest

from weft.errors import FabricError
from weft.route.checks import read_service

PATHS = """PathRecord dump:
	dlid....2
	slid....01
	sl......0x5
PathRecord dump:
	dlid....1
	slid....2
	sl......3
"""
ROW = "ports: in {a:2d}, out {b:2d}: " + "".join(f"|{i % 8:2d}" for i in range(16)) + "|\n"


def service(tmp_path: Path, paths: str, lanes: str) -> object:
    (tmp_path / "paths.txt").write_text(paths)
    (tmp_path / "lanes.txt").write_text(lanes)
    return read_service(tmp_path / "paths.txt", tmp_path / "lanes.txt")


def test_levels_and_lanes_are_read(tmp_path: Path) -> None:
    (tmp_path / "paths.txt").write_text(PATHS)
    lanes = "# SL2VL table: Lid 7\n# SL: | 0|\n" + ROW.format(a=0, b=1) + ROW.format(a=1, b=0)
    (tmp_path / "lanes.txt").write_text(lanes)
    found = read_service(tmp_path / "paths.txt", tmp_path / "lanes.txt")
    assert found.paths.tolist() == [[1, 2, 5], [2, 1, 3]]
    assert found.lanes[7].tolist() == [*range(8), *range(8)]


@pytest.mark.parametrize(
    ("lanes", "why"),
    [
        ("nothing\n", "no SL2VL table"),
        (
            "# SL2VL table: Lid 7\n" + ROW.format(a=0, b=1) + ROW.format(a=1, b=0).replace("| 3|", "| 2|", 1),
            "depend on ports",
        ),
        ("# SL2VL table: Lid 7\n" + ROW.format(a=0, b=1).replace("| 3|", "|16|", 1), "lane 16"),
    ],
)
def test_lanes_that_are_none_or_depend_on_ports_are_refused(tmp_path: Path, lanes: str, why: str) -> None:
    with pytest.raises(FabricError, match=why):
        service(tmp_path, PATHS, lanes)


def test_missing_files_and_those_without_paths_are_named(tmp_path: Path) -> None:
    with pytest.raises(FabricError, match="cannot be read"):
        read_service(tmp_path / "none.txt")
    with pytest.raises(FabricError, match="no path record"):
        service(tmp_path, "PathRecord dump:\n\tdlid....2\n", "")
