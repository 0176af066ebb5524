# SPDX-License-Identifier: BSD-3-Clause
"""Nobody asks which kernel or which kind of fabric it is: code outside their own folders asks for a property."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from weft.fabric.kinds import KINDS
from weft.kernel.registry import FLOOR, KERNELS

WEFT = Path(__file__).parents[2] / "src" / "weft"
#: Rooms that make what a kind stands for.
OF_KINDS = ("fabric/", "launch/")
NAMES = {*KERNELS, FLOOR.name}
#: Files that import one kernel by its name, and why.
IMPORTS = {
    "kernel/registry.py": "the table of all kernels",
    "fit/run.py": "a fit is one to cells of n and m, which the exchange alone has",
}


def constants(node: ast.AST) -> set[str]:
    """Texts that stand in an expression."""
    return {each.value for each in ast.walk(node) if isinstance(each, ast.Constant) and isinstance(each.value, str)}


def elements(node: ast.AST) -> set[str]:
    """Texts of a set, list or tuple, or the keys of a dictionary of constants; none where anything else is in it."""
    if isinstance(node, ast.Set | ast.List | ast.Tuple):
        parts: list[ast.expr | None] = list(node.elts)
    elif isinstance(node, ast.Dict) and all(isinstance(each, ast.Constant | ast.Tuple) for each in node.values):
        parts = list(node.keys)
    else:
        return set()
    found = {each.value for each in parts if isinstance(each, ast.Constant) and isinstance(each.value, str)}
    return found if len(found) == len(parts) else set()


def asked(source: str, names: set[str], word: str) -> list[str]:
    """Expressions that tell names apart.

    Parameters
    ----------
    source
        Python.
    names
        What must not be told apart.
    word
        What is compared with such a name is called so: ``kind``, ``kernel``.
    """
    found: list[ast.AST] = []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Compare):
            sides = [node.left, *node.comparators]
            if any(constants(side) & names for side in sides) and any(word in ast.unparse(side) for side in sides):
                found.append(node)
        elif isinstance(node, ast.Match) and word in ast.unparse(node.subject):
            found += [case.pattern for case in node.cases if constants(case.pattern) & names]
        elif isinstance(node, ast.Assign | ast.AnnAssign) and node.value is not None:
            owner = ast.unparse(node.targets[0] if isinstance(node, ast.Assign) else node.target)
            if isinstance(node.value, ast.Constant) and node.value.value in names and word in owner.lower():
                found.append(node)
        elif isinstance(node, ast.Call) and word in ast.unparse(node.func):
            found += [each for each in node.args if isinstance(each, ast.Constant) and each.value in names]
        if len(elements(node)) > 1 and elements(node) <= names:
            found.append(node)
    return [ast.unparse(node) for node in found]


def files(but: tuple[str, ...]) -> Iterator[tuple[str, str]]:
    """Path and text of the package's files outside some folders."""
    for path in sorted(WEFT.rglob("*.py")):
        where = path.relative_to(WEFT).as_posix()
        if not where.startswith(but):
            yield where, path.read_text()


def test_nobody_above_the_launchers_asks_for_the_kind_of_a_fabric() -> None:
    kinds = set(KINDS)
    assert {where: found for where, text in files(OF_KINDS) if (found := asked(text, kinds, "kind"))} == {}


@pytest.mark.parametrize(
    "mutant",
    [
        'here = fabric.kind in ("local", "virtual")',
        'here = fabric.kind == "local"',
        'MEASURED = frozenset({"local", "virtual"})',
        'LABELS = {"simulated": "simulated", "virtual": "virtual network"}',
        'KIND = "simulated"',
        'match plan.fabric_kind:\n    case "virtual" | "local":\n        pass',
    ],
)
def test_each_way_of_asking_for_a_kind_is_found(mutant: str) -> None:
    assert asked(mutant, set(KINDS), "kind")


def test_words_that_happen_to_be_a_kind_are_let_be() -> None:
    harmless = 'if clock == "local" or engine.startswith("local"): on = ("local",); row = {"simulated": side.modelled}'
    assert asked(harmless, set(KINDS), "kind") == []


def own(where: str) -> set[str]:
    """The kernel whose own file this is: in its folder, or its story."""
    return {name for name in NAMES if where.startswith(f"kernel/{name}/") or where == f"report/stories/{name}.py"}


def imported(source: str) -> set[str]:
    """Kernels whose folders a file imports from."""
    modules: list[str] = []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.ImportFrom) and node.module:
            modules += [f"{node.module}.{alias.name}" for alias in node.names]
        elif isinstance(node, ast.Import):
            modules += [alias.name for alias in node.names]
    return {name for name in NAMES for module in modules if f"{module}.".startswith(f"weft.kernel.{name}.")}


def test_nobody_outside_a_kernels_own_files_asks_which_kernel_it_is() -> None:
    spelled = {where: asked(text, NAMES - own(where), "kernel") for where, text in files(())}
    assert {where: found for where, found in spelled.items() if found} == {}


def test_nobody_outside_a_kernels_own_files_imports_it() -> None:
    foreign = {where: imported(text) - own(where) for where, text in files(())}
    assert {where for where, found in foreign.items() if found} == set(IMPORTS)


@pytest.mark.parametrize(
    "mutant",
    [
        'of_pairs = {name for name, cell in cells.items() if cell["kernel"] == "pairs"}',
        'good = cells.filter((cells.status == "ok") & (cells.kernel == "pairs"))',
        'KERNEL = "exchange"',
        'STORIES = {"bandwidth": ("bandwidth", "B"), "exchange": ("exchange", "E")}',
        'kernel = kernel_named("floor")',
        'match cell.get("kernel"):\n    case "exchange":\n        pass',
    ],
)
def test_each_way_of_asking_for_a_kernel_is_found(mutant: str) -> None:
    assert asked(mutant, NAMES, "kernel")


def test_a_lazy_import_of_a_kernel_is_found() -> None:
    assert imported("def f():\n    from weft.kernel.exchange import Exchange") == {"exchange"}
    assert imported("from weft.kernel import collective") == {"collective"}
