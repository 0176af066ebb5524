# SPDX-License-Identifier: BSD-3-Clause
"""The rooms of src/weft as tests/rooms.toml lists them, who imports whom, and the drawing in CONTRIBUTING.md."""

import ast
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

ROOT = Path(__file__).resolve().parents[2]
SOURCE = ROOT / "src" / "weft"
LIST = ROOT / "tests" / "rooms.toml"
CONTRIBUTING = ROOT / "CONTRIBUTING.md"
BEGIN, END = "<!-- rooms: drawn from tests/rooms.toml -->\n", "<!-- end of rooms -->\n"


@dataclass(frozen=True)
class House:
    """The list: floors from the top down, each with its rooms and what they are for.

    Attributes
    ----------
    most_lazy
        Imports between rooms, those of ``cli`` left out, that may stand inside functions.
    """

    floors: tuple[Mapping[str, str], ...]
    most_lazy: int

    def floor(self, room: str) -> int:
        """Index of a room's floor, from the top; KeyError where it is not listed."""
        for index, floor in enumerate(self.floors):
            if room in floor:
                return index
        raise KeyError(room)


@dataclass(frozen=True)
class Import:
    """One import of a module of Weft.

    Attributes
    ----------
    source, target
        Modules, ``weft.`` left off; the target is a file of the source tree.
    kind
        ``eager``; ``lazy``: inside a function; ``named``: by its name in a text, for import_module; ``types``: for
        types alone, and never executed.
    """

    source: str
    target: str
    line: int
    kind: Literal["eager", "lazy", "named", "types"]

    @property
    def rooms(self) -> tuple[str, str]:
        """Room of each end."""
        return self.source.partition(".")[0], self.target.partition(".")[0]

    def __str__(self) -> str:
        return f"{self.source}:{self.line} imports {self.target}"


def read_house(path: Path = LIST) -> House:
    """Read the list of rooms."""
    tree = tomllib.loads(path.read_text())
    return House(tuple(tree["floor"]), tree["most_lazy"])


def modules_of(source: Path = SOURCE) -> dict[str, Path]:
    """Each module's file, by its name without ``weft.``; the package itself is left out."""
    found: dict[str, Path] = {}
    for path in sorted(source.rglob("*.py")):
        parts = path.relative_to(source).with_suffix("").parts
        parts = parts[:-1] if parts[-1] == "__init__" else parts
        if parts:
            found[".".join(parts)] = path
    return found


def imports_of(source: Path = SOURCE) -> Iterator[Import]:
    """Every import of one file of Weft by another, wherever it stands in the file."""
    modules = modules_of(source)
    for name, path in modules.items():
        tree = ast.parse(path.read_text())
        typing = {id(inner) for node in ast.walk(tree) if for_types(node) for inner in ast.walk(node)}
        for node in ast.walk(tree):
            for target in targets(node, modules):
                if target != name:
                    yield Import(name, target, node.lineno, "types" if id(node) in typing else kind_of(node))


def kind_of(node: ast.stmt | ast.expr) -> Literal["eager", "lazy", "named"]:
    """How a statement imports."""
    if isinstance(node, ast.Constant):
        return "named"
    return "lazy" if node.col_offset else "eager"


def for_types(node: ast.AST) -> bool:
    """Whether it is ``if TYPE_CHECKING:``."""
    return isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING"


def targets(node: ast.AST, modules: Mapping[str, Path]) -> Iterator[str]:
    """Modules of Weft that a statement imports, or that a text names for ``import_module``."""
    if isinstance(node, ast.Constant):
        names = [node.value.partition(":")[0]] if isinstance(node.value, str) else []
        yield from (name[5:] for name in names if name.startswith("weft.") and name[5:] in modules)
        return
    if isinstance(node, ast.Import):
        names = [alias.name for alias in node.names]
    elif isinstance(node, ast.ImportFrom):
        assert not node.level, "imports in Weft are absolute"
        names = [f"{node.module}.{alias.name}" for alias in node.names]
    else:
        return
    for name in names:
        if name.startswith("weft."):
            inner = name.removeprefix("weft.")
            module = inner if inner in modules else inner.rpartition(".")[0]
            if module or inner in {each.partition(".")[0] for each in modules}:  # not __version__ of the package itself
                yield module or inner


def circles(edges: Iterable[tuple[str, str]]) -> list[set[str]]:
    """Sets of nodes that can reach each other (strongly connected components of more than one)."""
    graph: dict[str, set[str]] = {}
    for source, target in edges:
        graph.setdefault(source, set()).add(target)
    reach = {node: reached(graph, node) for node in graph}
    found: list[set[str]] = []
    for node, seen in reach.items():
        circle = {other for other in seen if node in reach.get(other, ())}
        if circle - {node} and circle not in found:
            found.append(circle)
    return found


def reached(graph: Mapping[str, set[str]], start: str) -> set[str]:
    """All that can be reached from a node."""
    seen: set[str] = set()
    waiting = list(graph[start])
    while waiting:
        node = waiting.pop()
        if node not in seen:
            seen.add(node)
            waiting += graph.get(node, ())
    return seen


def drawing(house: House) -> str:
    """The house as CONTRIBUTING.md shows it: those rooms that are there."""
    there = {name.partition(".")[0] for name in modules_of()}
    width = max(map(len, there)) + 4
    lines: list[str] = []
    for floor in house.floors:
        for room, words in floor.items():
            if room in there:
                path = f"{room}/" if (SOURCE / room).is_dir() else f"{room}.py"
                lines.append(f"    {path:<{width}}{words}")
    return "\n".join(lines) + "\n"


def main() -> None:
    """Draw the house in CONTRIBUTING.md anew."""
    text = CONTRIBUTING.read_text()
    head, rest = text.split(BEGIN)
    CONTRIBUTING.write_text(f"{head}{BEGIN}\n{drawing(read_house())}\n{END}{rest.partition(END)[2]}")


if __name__ == "__main__":
    main()
