# SPDX-License-Identifier: BSD-3-Clause
"""Every public name has a docstring, with the errors of Weft that it raises."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

SOURCES = Path(__file__).parents[2] / "src" / "weft"

Documented = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef
Trees = dict[str, ast.Module]


def parse(sources: Path) -> Trees:
    return {str(path.relative_to(sources)): ast.parse(path.read_text()) for path in sorted(sources.rglob("*.py"))}


def public_names(tree: ast.Module) -> Iterator[tuple[str, Documented]]:
    """Module-level functions and classes, and the methods of those classes, that do not begin with an underscore."""
    for node in tree.body:
        if not isinstance(node, Documented) or node.name.startswith("_"):
            continue
        yield node.name, node
        if isinstance(node, ast.ClassDef):
            for inner in node.body:
                if isinstance(inner, ast.FunctionDef | ast.AsyncFunctionDef) and not inner.name.startswith("_"):
                    yield f"{node.name}.{inner.name}", inner


def overriding(trees: Trees) -> set[str]:
    """Methods that a base class describes, in whichever module: ``kernel/probe/__init__.py: Probe.sizes``."""
    classes: dict[str, list[ast.ClassDef]] = {}
    for node in (node for tree in trees.values() for node in tree.body if isinstance(node, ast.ClassDef)):
        classes.setdefault(node.name, []).append(node)

    def describes(node: ast.ClassDef, method: str) -> bool:
        own = {inner.name for inner in node.body if isinstance(inner, ast.FunctionDef) and ast.get_docstring(inner)}
        return method in own or inherits(node, method)

    def inherits(node: ast.ClassDef, method: str) -> bool:
        bases = [each for base in node.bases for each in classes.get(ast.unparse(base), ())]
        return any(describes(each, method) for each in bases)

    return {
        f"{path}: {node.name}.{inner.name}"
        for path, tree in trees.items()
        for node in tree.body
        if isinstance(node, ast.ClassDef)
        for inner in node.body
        if isinstance(inner, ast.FunctionDef) and inherits(node, inner.name)
    }


def words(node: ast.AST) -> set[str]:
    """Every name in an expression, annotations written as strings among them."""
    found: set[str] = set()
    for part in ast.walk(node):
        if isinstance(part, ast.Name):
            found.add(part.id)
        elif isinstance(part, ast.Attribute):
            found |= {part.attr, ast.unparse(part)}
        elif isinstance(part, ast.Constant) and isinstance(part.value, str):
            found |= set(re.findall(r"[\w.]+", part.value))
    return found


def error_names(trees: Trees) -> set[str]:
    """WeftError and every class that derives from it, directly or not."""
    bases = {
        node.name: {base for each in node.bases for base in words(each)}
        for tree in trees.values()
        for node in ast.walk(tree)
        if isinstance(node, ast.ClassDef)
    }
    found = {"WeftError"}
    while new := {name for name, of in bases.items() if of & found} - found:
        found |= new
    return found


def raised(node: Documented, errors: set[str]) -> set[str]:
    """Errors that a function's own body raises; a class is asked for what its construction raises."""
    if isinstance(node, ast.ClassDef):
        made = [
            each
            for each in node.body
            if isinstance(each, ast.FunctionDef) and each.name in ("__init__", "__post_init__")
        ]
        return {name for each in made for name in raised(each, errors)}
    found: set[str] = set()
    for part in ast.walk(node):
        if isinstance(part, ast.Raise) and isinstance(part.exc, ast.Call):
            found |= words(part.exc.func) - caught_around(node, part)
    return found & errors


def caught_around(node: ast.AST, raising: ast.Raise) -> set[str]:
    """Names of the errors that the `try` statements around a `raise` catch: they do not leave the function."""
    tries = [part for part in ast.walk(node) if isinstance(part, ast.Try)]
    around = [each for each in tries if any(raising in ast.walk(step) for step in each.body)]
    return {name for part in around for handler in part.handlers if handler.type for name in words(handler.type)}


def without_docstring(trees: Trees) -> list[str]:
    modules = [path for path, tree in trees.items() if tree.body and not ast.get_docstring(tree)]
    described = overriding(trees)
    names = [
        f"{path}: {name}"
        for path, tree in trees.items()
        for name, node in public_names(tree)
        if not ast.get_docstring(node) and f"{path}: {name}" not in described
    ]
    return modules + names


def without_errors(trees: Trees) -> list[str]:
    errors = error_names(trees)
    return [
        f"{path}: {name}: {', '.join(sorted(lacks))}"
        for path, tree in trees.items()
        for name, node in public_names(tree)
        if (lacks := {each for each in raised(node, errors) if each not in (ast.get_docstring(node) or "")})
    ]


def test_every_module_and_every_public_function_class_and_method_has_a_docstring():
    assert not without_docstring(parse(SOURCES))


def test_public_functions_that_raise_an_error_of_weft_name_it():
    assert not without_errors(parse(SOURCES))


TOY = """
class Fault(WeftError):
    "A fault."

def load(size: int) -> None:
    "{said}"
    raise Fault("x")

def quiet() -> None:
    "Raise nothing outside."
    try:
        raise Fault("x")
    except Fault:
        return
"""


@pytest.mark.parametrize(
    ("said", "lacks"), [("Load; Fault if there is none.", []), ("Load.", ["Fault"]), ("", ["load", "Fault"])]
)
def test_the_rules_find_what_a_docstring_lacks(said: str, lacks: list[str]):
    trees = {"toy.py": ast.parse('"""A toy."""' + TOY.format(said=said))}
    found = without_docstring(trees) + without_errors(trees)
    assert [each.split(": ")[-1] for each in found] == lacks
