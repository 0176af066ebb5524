# SPDX-License-Identifier: BSD-3-Clause
"""Errors of the sources whose remedy names a command of Weft, and the cases that provoke them."""

import ast
import re
from collections.abc import Callable, Iterable
from pathlib import Path

import pytest

from made.fake_kernel import FakeLauncher
from made.kept import copy_of
from weft.cli.app import VERBS, main

TESTS = Path(__file__).parents[1]
SOURCES = TESTS.parent / "src" / "weft"
DUMPS = TESTS / "data" / "networks"
VERB = re.compile(rf"\bweft` ?|\bweft (?:{'|'.join(VERBS)})\b")


def text_of(node: ast.AST, known: dict[str, str]) -> str:
    """The text of an expression; ``{}`` for what is filled in."""
    if isinstance(node, ast.Constant):
        return node.value if isinstance(node.value, str) else ""
    if isinstance(node, ast.JoinedStr):
        return "".join(text_of(part, known) or "{}" for part in node.values)
    if isinstance(node, ast.FormattedValue):
        return text_of(node.value, {name: text for name, text in known.items() if VERB.search(text)})
    if isinstance(node, ast.BinOp):
        return text_of(node.left, known) + text_of(node.right, known)
    if isinstance(node, ast.IfExp):
        return text_of(node.body, known) + text_of(node.orelse, known)
    return known.get(node.id, "") if isinstance(node, ast.Name) else ""


def assigned(nodes: Iterable[ast.AST]) -> list[tuple[int, str, str]]:
    """Line, name and text of each assignment among some nodes, in their order."""
    made = [node for node in nodes if isinstance(node, ast.Assign)]
    return sorted(
        (at.lineno, name.id, text_of(at.value, {})) for at in made for name in at.targets if isinstance(name, ast.Name)
    )


def collected() -> set[tuple[str, str]]:
    """File and remedy of each error in the sources whose remedy names a verb."""
    trees = {path.relative_to(SOURCES).as_posix(): ast.parse(path.read_text()) for path in SOURCES.rglob("*.py")}
    constants = {name: text for whole in trees.values() for _, name, text in assigned(whole.body)}
    found: set[tuple[str, str]] = set()
    for file, whole in trees.items():
        for scope in (whole, *(node for node in ast.walk(whole) if isinstance(node, ast.FunctionDef))):
            own = assigned(ast.walk(scope) if isinstance(scope, ast.FunctionDef) else ())
            for call in (node for node in ast.walk(scope) if isinstance(node, ast.Call)):
                known = constants | {name: text for line, name, text in own if line < call.lineno}
                called = call.func.id if isinstance(call.func, ast.Name) else getattr(call.func, "attr", "")
                if called.endswith("Error") or called in ("error", "tell"):
                    texts = [text_of(part, known) for part in [*call.args[1:], *(word.value for word in call.keywords)]]
                    found |= {(file, text) for text in texts if VERB.search(text)}
    return found


class Typed:
    """Types commands, and keeps what was printed."""

    def __init__(self, capsys: pytest.CaptureFixture[str]) -> None:
        self.capsys = capsys

    def __call__(self, *words: object) -> str:
        """Run a command that works; what it printed."""
        self.capsys.readouterr()
        code = main([str(word) for word in words])
        said = self.capsys.readouterr()
        assert code == 0, said.err
        return said.out + said.err

    def fails(self, *words: object) -> str:
        """Run a command that does not; its remedy."""
        self.capsys.readouterr()
        assert main([str(word) for word in words]) in (1, 2)
        return self.capsys.readouterr().err.partition("-> ")[2].strip()


def run_here(name: str = "exchange") -> Path:
    """A kept run in this folder."""
    return copy_of(name, Path.cwd())


def fabric_of(dump: str, typed: Typed, *more: object) -> Path:
    """A fabric file made of a dump by the verb."""
    typed("fabric", "import", DUMPS / dump, "-o", "imported.toml", *more)
    return Path("imported.toml")


def faked(monkeypatch: pytest.MonkeyPatch, launcher: FakeLauncher | None = None) -> FakeLauncher:
    """Let ``weft run`` start no ranks but ours, and make no pages."""
    made = launcher or FakeLauncher()
    monkeypatch.setattr("weft.run.many.launcher_for", lambda *_, **__: made)
    monkeypatch.setattr("weft.run.one.make_tables", lambda folder: None)
    monkeypatch.setattr("weft.report.tables.show", lambda *_, **__: None)
    monkeypatch.setattr("weft.report.page.write", lambda *_, **__: None)
    return made


class Cases(dict[tuple[str, str], Callable[..., None]]):
    """Functions that provoke an error and run its command, by the error's file and a part of its remedy."""

    def of(self, file: str, remedy: str) -> Callable[[Callable[..., None]], Callable[..., None]]:
        """Enter a function as the case of the errors of a file whose remedies hold a text."""

        def entered(function: Callable[..., None]) -> Callable[..., None]:
            self[file, remedy] = function
            return function

        return entered
