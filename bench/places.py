# SPDX-License-Identifier: BSD-3-Clause
"""Where a fault is planted: an expression, token by token, in a function of a name, wherever its file stands."""

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

SUFFIXES = (".py", ".cpp", ".hpp")
TOKEN = re.compile(r"\"(?:\\.|[^\"\\])*\"|'(?:\\.|[^'\\])*'|\w+|[^\w\s]")
CLOSES = {"(": ")", "{": "}"}


class Place(NamedTuple):
    """A part of a file, by its first character and the one after its last."""

    file: Path
    start: int
    end: int


def find_places(root: Path, within: str, function: str, expression: str) -> list[Place]:
    """Every place of an expression in functions of a name, whatever the white space between its tokens.

    Parameters
    ----------
    within
        A file or folder below `root`.
    function
        Name of a function, with that of its class before it where that is needed (``Bounds._measured``); empty: the
        whole file.
    expression
        Source text.
    """
    pattern = re.compile(r"\s*".join(re.escape(token) for token in TOKEN.findall(expression)))
    last = re.split(r"\.|::", function)[-1]
    places: list[Place] = []
    for path in source_files(root / within):
        text = read(path)
        if last not in text or not pattern.search(text):
            continue
        for start, end in set(functions(path, text, function)) if function else {(0, len(text))}:
            places += [Place(path, found.start(), found.end()) for found in pattern.finditer(text, start, end)]
    return sorted(set(places))


def source_files(within: Path) -> list[Path]:
    """Files of source text in a folder, without tests; or the file itself."""
    if within.is_file():
        return [within]
    return [path for path in sorted(within.rglob("*")) if path.suffix in SUFFIXES and "tests" not in path.parts[-3:-1]]


@cache
def read(path: Path) -> str:
    """The text of a file that does not change while the program runs."""
    return path.read_text(encoding="utf-8")


def functions(path: Path, text: str, name: str) -> Iterator[tuple[int, int]]:
    """First and last character of each function of a name in a file."""
    return python_functions(text, name) if path.suffix == ".py" else native_functions(text, name)


def python_functions(text: str, name: str) -> Iterator[tuple[int, int]]:
    """Functions of a module whose dotted name ends so."""
    starts = [0]
    for line in text.splitlines(keepends=True):
        starts.append(starts[-1] + len(line))

    def below(node: ast.AST, outer: str) -> Iterator[tuple[int, int]]:
        for child in ast.iter_child_nodes(node):
            inner = outer
            if isinstance(child, ast.FunctionDef | ast.ClassDef):
                inner = f"{outer}.{child.name}"
                if isinstance(child, ast.FunctionDef) and inner.endswith(f".{name}"):
                    yield starts[child.lineno - 1], starts[child.end_lineno or child.lineno]
            yield from below(child, inner)

    return below(ast.parse(text), "")


def native_functions(text: str, name: str) -> Iterator[tuple[int, int]]:
    """Definitions of C++ functions of a name, ``Class::name`` or ``name``: those with a body."""
    for found in re.finditer(rf"\b{re.escape(name)}\s*\(", text):
        body = body_after(text, end_of(text, found.end() - 1))
        if body is not None:
            yield found.start(), end_of(text, body)


def body_after(text: str, place: int) -> int | None:
    """Where the ``{`` of a body stands after a list of parameters; None after a call or a declaration."""
    head = re.compile(r"(?:\s|const\b|noexcept\b|override\b|final\b|->[^{;]*)*").match(text, place)
    place = head.end() if head else place
    if text[place : place + 1] == ":":  # initialisers of members: name(...) or name{...}
        while member := re.compile(r"[:,]\s*[\w:<>]+\s*(?=[({])").match(text, place):
            place = end_of(text, member.end())
            place += len(text[place:]) - len(text[place:].lstrip())
    return place if text[place : place + 1] == "{" else None


def end_of(text: str, place: int) -> int:
    """After the bracket that closes the one at a place; strings and comments may hold brackets."""
    opened, closes = text[place], CLOSES[text[place]]
    depth = 0
    for token in re.compile(r"//[^\n]*|/\*.*?\*/|\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])'|[(){}]", re.DOTALL).finditer(
        text, place
    ):
        depth += {opened: 1, closes: -1}.get(token[0], 0)
        if depth == 0:
            return token.end()
    return len(text)
