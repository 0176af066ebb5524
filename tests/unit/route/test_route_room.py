# SPDX-License-Identifier: BSD-3-Clause
"""The room of routes needs fabrics and files alone: bounds, plans and launchers lean on it, never the other way."""

import ast
from pathlib import Path

import pytest

import weft.route

BELOW = ("weft.route", "weft.fabric", "weft.files", "weft.errors", "weft.format", "weft.text", "weft.units")
FILES = sorted(Path(next(iter(weft.route.__path__))).glob("*.py"))


def imported(path: Path) -> set[str]:
    """Modules that a file imports, wherever in it."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            found |= {name.name for name in node.names}
        elif isinstance(node, ast.ImportFrom):
            found.add(node.module or "")
    return found


@pytest.mark.parametrize("path", FILES, ids=[path.stem for path in FILES])
def test_a_file_of_the_room_imports_only_what_lies_below(path: Path) -> None:
    own = {name for name in imported(path) if name.split(".")[0] == "weft"}
    assert {name for name in own if not name.startswith(BELOW)} == set()
    assert "subprocess" not in imported(path)


@pytest.mark.parametrize("path", FILES, ids=[path.stem for path in FILES])
def test_functions_are_short(path: Path) -> None:
    functions = [n for n in ast.walk(ast.parse(path.read_text())) if isinstance(n, ast.FunctionDef)]
    bodies = {f.name: f.body[1:] if ast.get_docstring(f) else f.body for f in functions}
    lengths = {name: body[-1].end_lineno - body[0].lineno + 1 for name, body in bodies.items() if body}
    assert {name: length for name, length in lengths.items() if length >= 40} == {}
