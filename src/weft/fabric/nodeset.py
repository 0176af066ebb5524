# SPDX-License-Identifier: BSD-3-Clause
"""Node sets in Slurm's notation, such as ``n[37-54]`` or ``rack[1-2]n[01-18],login1``.

A bracket holds numbers and ranges. All before it is text, digits included: ``n1[8-11]`` is n18, n19, n110 and n111. The
first number of a range sets the width: ``n[08-11]`` is n08, n09, n10, n11. Weft also accepts text after the last
bracket, ``n[1-2]-ib``, which Slurm refuses. A node that occurs twice counts once.
"""

import itertools
import math
import re
from collections.abc import Iterator
from functools import lru_cache

from weft.errors import FabricError

MOST = 200_000
MOST_TEXT = 8_000_000
LONGEST_NAME = 255
MOST_DIGITS = 18

ONE = re.compile(r"(?:[^\[\],\s]|\[[^\[\]]*\])+")  # a name with its brackets
SEPARATORS = re.compile(r"[,\s]*")
LITERAL = re.compile(r"[A-Za-z0-9_.-]*", re.ASCII)
NUMBER = re.compile(r"[0-9]+")
RANGE = re.compile(r"([0-9]+)(?:-([0-9]+))?", re.ASCII)
Part = tuple[int, int, int]  # lowest and highest number of a range, and the least number of digits to write it with


class NodeSetError(FabricError, ValueError):
    """A text is not a node set. It is also a ValueError, so that a validator may raise it."""


def size(text: str) -> int:
    """Number of names in a node set, repeated ones twice, not expanded; NodeSetError for none or over 200,000."""
    return sum(_size(pieces) for pieces in _parsed(text))


@lru_cache(maxsize=16)
def expand(text: str) -> tuple[str, ...]:
    """Names of a node set, each once, n2 before n10; NodeSetError for none, over 200,000, or 8 million characters."""
    names: set[str] = set()
    for pieces in _parsed(text):
        names.update(_names(pieces))
    if not names:
        raise NodeSetError("an empty node set")
    return tuple(sorted(names, key=natural))


def natural(name: str) -> tuple[str, str]:
    """Sort key: numbers by value, texts between them alphabetically.

    A number stands in it as a control character, a character for its length, and its digits: one text a name, where
    a pair for each number took gigabytes.
    """
    return NUMBER.sub(_by_value, name), name


def _by_value(number: re.Match[str]) -> str:
    digits = number[0].lstrip("0")
    return f"\0{chr(len(digits))}{digits}"


def _parsed(text: str) -> list[list[str | list[Part]]]:
    """Each name of the set as its texts and its brackets, after checks of sizes and lengths."""
    if len(text) > MOST_TEXT:
        raise NodeSetError(f"not a node set: {len(text):,} characters")
    found: list[list[str | list[Part]]] = []
    at, total, long = 0, 0, 0
    while True:
        at = _end(SEPARATORS, text, at)
        if at == len(text):
            return found
        end = _end(ONE, text, at)
        if end == at:
            raise NodeSetError(
                f'not a node set: the bracket in "{text[max(0, at - 20) : at + 20]}" has no other half or one inside '
                'it; write names and ranges, such as "n[37-54]" or "a1,b[1-4]"'
            )
        found.append(_pieces(text[at:end]))
        at = end
        count = _size(found[-1])
        total += count
        if total > MOST:
            raise NodeSetError(f"more than {MOST:,} nodes")
        long += count * _longest(found[-1])
        if long > MOST_TEXT:
            raise NodeSetError(f"names of more than {MOST_TEXT:,} characters in all, up to {total:,} nodes")


def _end(pattern: re.Pattern[str], text: str, at: int) -> int:
    match = pattern.match(text, at)
    return match.end() if match else at


def _pieces(word: str) -> list[str | list[Part]]:
    pieces: list[str | list[Part]] = []
    for index, piece in enumerate(re.split(r"\[([^\[\]]*)\]", word)):
        if index % 2:
            parts = [_part(word, part) for part in piece.split(",")]
            pieces.append(parts)
        elif not LITERAL.fullmatch(piece) or (not index and piece[:1] in ("-", ".")):
            raise NodeSetError(
                f'not a node set: "{_short(word)}" is not a name; a name has letters, digits, . _ - and brackets of '
                "numbers"
            )
        else:
            pieces.append(piece)
    if (longest := _longest(pieces)) > LONGEST_NAME:
        raise NodeSetError(f'not a node set: "{_short(word)}" makes a name of {longest} characters')
    return pieces


def _part(word: str, text: str) -> Part:
    match = RANGE.fullmatch(text)
    if match is None:
        raise NodeSetError(f'"{_short(text)}" in "{_short(word)}" is not a range: write [37-54] or [1,3,5-9]')
    low, high = match[1], match[2] or match[1]
    if max(len(low), len(high)) > MOST_DIGITS:
        raise NodeSetError(f'"{_short(text)}" in "{_short(word)}" has a number of over {MOST_DIGITS} digits')
    if int(low) > int(high):
        raise NodeSetError(f'"{text}" in "{_short(word)}" runs downwards: write [{high}-{low}]')
    return int(low), int(high), len(low)


def _longest(pieces: list[str | list[Part]]) -> int:
    return sum(
        len(piece) if isinstance(piece, str) else max(max(width, len(str(high))) for _, high, width in piece)
        for piece in pieces
    )


def _size(pieces: list[str | list[Part]]) -> int:
    brackets = (piece for piece in pieces if not isinstance(piece, str))
    return math.prod(sum(high - low + 1 for low, high, _ in parts) for parts in brackets)


def _names(pieces: list[str | list[Part]]) -> Iterator[str]:
    choices = ((piece,) if isinstance(piece, str) else tuple(_numbers(piece)) for piece in pieces)
    return map("".join, itertools.product(*choices))


def _numbers(parts: list[Part]) -> Iterator[str]:
    for low, high, width in parts:
        yield from (f"{number:0{width}}" for number in range(low, high + 1))


def _short(text: str) -> str:
    return text if len(text) <= 60 else text[:57] + "..."
