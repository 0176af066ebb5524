# SPDX-License-Identifier: BSD-3-Clause
"""One equation, one place: the largest term is taken by weft.bound.terms alone."""

import ast
from pathlib import Path

import pytest

from weft.bound.terms import largest

WEFT = Path(__file__).parents[3] / "src" / "weft"


def takes_largest_term(source: str) -> list[str]:
    """Calls of ``max`` over something that is called terms."""
    return [
        ast.unparse(node)
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.Call) and ast.unparse(node.func) == "max" and "terms" in ast.unparse(node)
    ]


def test_the_largest_term_is_taken_once() -> None:
    found = {path.relative_to(WEFT).as_posix(): takes_largest_term(path.read_text()) for path in WEFT.rglob("*.py")}
    assert {path: calls for path, calls in found.items() if calls} == {
        "bound/terms.py": ["max(terms, key=lambda each: terms[each])"]
    }


@pytest.mark.parametrize(
    "mutant",
    ["name = max(terms, key=lambda term: terms[term])", "t = max((s for n, s in terms.items() if n), default=0.0)"],
)
def test_another_largest_term_would_be_found(mutant: str) -> None:
    assert takes_largest_term(mutant)


def test_the_first_of_two_equal_terms_names_the_bound_and_nothing_bounds_nothing() -> None:
    found = largest({"memory copy": 1.0, "injection": 3.0, "link leaf0 up": 3.0})
    assert found
    assert (found.name, found.seconds) == ("injection", 3.0)
    assert largest({}) is None
