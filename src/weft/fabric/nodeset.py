# SPDX-License-Identifier: BSD-3-Clause
"""Node sets in Slurm's notation, such as ``n[37-54]`` or ``rack[1-2]n[01-18],login1``.

A bracket holds numbers and ranges. All before it is text, digits included: ``n1[8-11]`` is n18, n19, n110 and n111. The
first number of a range sets the width: ``n[08-11]`` is n08, n09, n10, n11. Weft also accepts text after the last
bracket, ``n[1-2]-ib``, which Slurm refuses. A repeated node counts once. Names are folded as Slurm accepts them.
"""

import itertools
import math
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache

from weft.errors import FabricError

MOST = 200_000
MOST_TEXT = 8_000_000
LONGEST_NAME = 255
MOST_DIGITS = 18
ONE = re.compile(r"(?:[^\[\],\s]|\[[^\[\]]*\])+")  # a name with its brackets
SEPARATORS = re.compile(r"[,\s]*")
LITERAL = re.compile(r"[A-Za-z0-9_.-]*", re.ASCII)
NUMBER = re.compile(r"([0-9]+)")
RANGE = re.compile(r"([0-9]+)(?:-([0-9]+))?", re.ASCII)
Part = tuple[int, int, int]  # lowest and highest number of a range, and the least number of digits to write it with
Pieces = list[str | list[Part]]  # a name as its texts and its brackets


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
        choices = ((piece,) if isinstance(piece, str) else _numbers(piece) for piece in pieces)
        names.update(map("".join, itertools.product(*choices)))
    if not names:
        raise NodeSetError("an empty node set")
    return tuple(sorted(names, key=natural))


def natural(name: str) -> tuple[str, str]:
    """Sort key: numbers by value, texts between them alphabetically. A number stands in it as a control character, a
    character for its length, and its digits: one text a name, where a pair for each number took gigabytes.
    """
    return NUMBER.sub(lambda number: f"\0{chr(len(number[0].lstrip('0')))}{number[0].lstrip('0')}", name), name


def _parsed(text: str) -> list[Pieces]:
    if len(text) > MOST_TEXT:
        raise NodeSetError(f"not a node set: {len(text):,} characters")
    found: list[Pieces] = []
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


def _pieces(word: str) -> Pieces:
    pieces: Pieces = []
    for index, piece in enumerate(re.split(r"\[([^\[\]]*)\]", word)):
        if index % 2:
            pieces.append([_part(word, part) for part in piece.split(",")])
        elif LITERAL.fullmatch(piece) and (index or piece[:1] not in ("-", ".")):
            pieces.append(piece)
        else:
            known = "a name has letters, digits, . _ - and brackets of numbers"
            raise NodeSetError(f'not a node set: "{_short(word)}" is not a name; {known}')
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


def _longest(pieces: Pieces) -> int:
    return sum(
        len(piece) if isinstance(piece, str) else max(max(width, len(str(high))) for _, high, width in piece)
        for piece in pieces
    )


def _size(pieces: Pieces) -> int:
    brackets = (piece for piece in pieces if not isinstance(piece, str))
    return math.prod(sum(high - low + 1 for low, high, _ in parts) for parts in brackets)


def _numbers(parts: list[Part]) -> Iterator[str]:
    return (f"{number:0{width}}" for low, high, width in parts for number in range(low, high + 1))


def _short(text: str) -> str:
    return text if len(text) <= 60 else text[:57] + "..."


LONGEST_RANGED = 16
LONGEST_TEXT = 60
Name = tuple[str, ...]  # a name that ends in a number: text, number, text, number ..


def fold(names: Iterable[str]) -> str:
    """Names as one node set, each once: ``n[0-3]``, ``r[1-2]n[01-18]``. The time grows with the number of names times
    the numbers in each. Names that end in a letter are listed: Slurm refuses ``n[1-2]-ib``, which schedulers print.
    """
    folded, parts = defaultdict[Name, list[Name]](list), list[str]()
    for name in sorted(set(names), key=natural):
        pieces = NUMBER.split(name)
        is_long = any(len(number) > MOST_DIGITS for number in pieces[1::2])  # a bracket cannot have such a number
        if pieces[-1] or len(pieces) == 1 or not LITERAL.fullmatch(name) or is_long:
            parts.append(name)
        else:
            folded[tuple(pieces[:-1:2])].append(tuple(pieces[1::2]))
    for texts, numbers in folded.items():
        parts += (spelled(texts, each) for each in shortest(numbers))
    return ",".join(parts)


def shortest(numbers: Sequence[Name]) -> list[Name]:
    """Names alike but for their numbers, folded from the last number on or from the first, whichever gives less."""
    places = range(len(numbers[0]))
    return min((along(way, numbers) for way in dict.fromkeys((tuple(reversed(places)), tuple(places)))), key=len)


def along(places: Iterable[int], numbers: Sequence[Name]) -> list[Name]:
    """Names whose numbers were replaced by ranges, one place after the other."""
    found: Iterable[Name] = numbers
    for place in places:
        alike: defaultdict[tuple[Name, Name], list[str]] = defaultdict(list)
        for each in found:
            alike[each[:place], each[place + 1 :]].append(each[place])
        found = [(*before, ",".join(ranges(own)), *after) for (before, after), own in alike.items()]
    return list(found)


def ranges(numbers: Iterable[str]) -> list[str]:
    """Numbers as ranges, in order: a range's first number sets the width of all, so those with zeros come first."""
    left = set(numbers)
    found: list[tuple[int, str]] = []
    for first in sorted(left, key=lambda number: (number == "0" or number[0] != "0", int(number), number)):
        if first not in left:
            continue
        last, width = int(first), len(first)
        left.remove(first)
        while (following := f"{last + 1:0{width}}") in left:
            left.remove(following)
            last += 1
        found.append((int(first), first if last == int(first) else f"{first}-{last:0{width}}"))
    return [text for _, text in sorted(found)]


def spelled(texts: Name, numbers: Name) -> str:
    """Texts and ranges as a name of a node set; a number after a bracket needs one, too, for Slurm."""
    pieces: list[str] = []
    bracket = False
    for text, number in zip(texts, numbers, strict=True):
        bracket = bracket or not number.isdigit()
        pieces.append(f"{text}[{number}]" if bracket else text + number)
    return "".join(pieces)


def fold_for_people(names: Iterable[str]) -> str:
    """Names as a node set if it fits one readable line; else the first and the last: ``h-00aa1 ... h-00ff7``."""
    listed = list(names)
    ends = listed[0] if len(listed) == 1 else f"{listed[0]} ... {listed[-1]}"
    # GUIDs do not number nodes: the first and the last name read better than h-00[1234-1240].
    if len(listed[0]) > LONGEST_RANGED:
        return ends
    text = fold(listed)
    return text if len(text) <= LONGEST_TEXT else ends
