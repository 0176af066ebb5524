# SPDX-License-Identifier: BSD-3-Clause
"""Weft speaks plainly: a short list of patterns that a native reader stumbles over stays out of its strings."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import weft

SOURCE = Path(weft.__file__).parent
#: Text that a person reads, as against names and templates.
FEWEST_WORDS = 2
BANNED = (
    r"\bculprits?\b", r"\bblamed?\b", r"\bsuspects?\b", r"\btheft\b", r"\bstolen?\b", r"\bstole\b", r"\blikeliest\b",
    r"\bgravest\b", r"\bhangs? on\b", r"\b(is|are) told\b", r"\b(is|are) said\b", r"\bstands? in\b", r"\blies\b",
    r"\btaken apart\b", r"\bmet before\b", r"\bw(as|ere) asked\b", r"\bhas no use for\b", r"\bare there\b",
    r"\bleast (to|and the) (greatest|most)\b", r"\bIf the numbers hold\b", r"\bNot shown\b", r"\bcome together\b",
)  # fmt: skip
PATTERN = re.compile("|".join(BANNED))


def find_strings(text: str) -> Iterator[str]:
    """Strings of a module that are no docstrings, parts of f-strings among them."""
    tree = ast.parse(text)
    docs = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in docs:
            yield node.value


def find_banned(text: str) -> list[str]:
    """Strings of a module, of two words and more, with a banned pattern."""
    return [each for each in find_strings(text) if len(each.split()) >= FEWEST_WORDS and PATTERN.search(each)]


def test_no_string_has_a_banned_pattern() -> None:
    found = {str(path.relative_to(SOURCE)): find_banned(path.read_text()) for path in SOURCE.rglob("*.py")}
    assert {path: texts for path, texts in found.items() if texts} == {}


def test_no_template_has_a_banned_pattern() -> None:
    texts = {path.name: PATTERN.search(path.read_text()) for path in (SOURCE / "report" / "template").glob("*.html")}
    assert {name: match[0] for name, match in texts.items() if match} == {}


@pytest.mark.parametrize("text", ["X = 'the run is told apart'", "X = f'{y} hangs on {z} numbers'"])
def test_a_banned_pattern_is_seen_in_plain_and_formatted_strings(text: str) -> None:
    assert find_banned(text)
    assert not find_banned(f'"""{text}"""')
