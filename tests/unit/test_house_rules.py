# SPDX-License-Identifier: BSD-3-Clause
"""Rules of the house that a linter has no name for: short functions, and rows that say what they hold."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import weft

SOURCE = Path(weft.__file__).parent
MOST_LINES = 40


def long_functions(text: str) -> Iterator[str]:
    """Names of functions over `MOST_LINES` lines, signature included; a docstring is for readers and does not count."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            length = (node.end_lineno or node.lineno) - node.lineno + 1
            first = node.body[0]
            if ast.get_docstring(node) is not None:
                length -= (first.end_lineno or first.lineno) - first.lineno + 1
            if length > MOST_LINES:
                yield node.name


def has_any_rows(text: str) -> bool:
    """Whether a module gives ``dict[str, Any]`` a name of its own."""
    named: list[ast.expr | None] = []
    for node in ast.parse(text).body:
        if isinstance(node, ast.Assign) or (
            isinstance(node, ast.AnnAssign) and ast.unparse(node.annotation) == "TypeAlias"
        ):
            named.append(node.value)
    return any(value is not None and ast.unparse(value) in ("dict[str, Any]", "Mapping[str, Any]") for value in named)


def test_no_function_is_over_40_lines() -> None:
    found = {
        f"{path.relative_to(SOURCE)}:{name}"
        for path in SOURCE.rglob("*.py")
        for name in long_functions(path.read_text())
    }
    assert sorted(found) == [], "divide them"


def test_no_module_has_rows_of_any_type() -> None:
    found = {str(path.relative_to(SOURCE)) for path in SOURCE.rglob("*.py") if has_any_rows(path.read_text())}
    assert sorted(found) == [], "give their rows a TypedDict, a dataclass or a model"


@pytest.mark.parametrize("text", ["Row = dict[str, Any]", "Cell: TypeAlias = Mapping[str, Any]"])
def test_a_name_for_rows_of_any_type_is_seen(text: str) -> None:
    assert has_any_rows(text)
    assert not has_any_rows("Row = dict[str, str]")
    assert not has_any_rows("def f(meta: dict[str, Any]) -> None: ...")


def test_a_long_function_is_seen_wherever_it_stands() -> None:
    body = "        pass\n" * MOST_LINES
    assert list(long_functions(f"class A:\n    def f(self):\n{body}")) == ["f"]
    assert list(long_functions("def f():\n" + "    pass\n" * (MOST_LINES - 1))) == []
    said = '    """Said.\n' + "\n" * MOST_LINES + '    """\n'
    assert list(long_functions("def f():\n" + said + "    pass\n" * (MOST_LINES - 1))) == []
    assert list(long_functions("def f():\n" + said + "    pass\n" * MOST_LINES)) == ["f"]
