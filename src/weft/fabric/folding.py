# SPDX-License-Identifier: BSD-3-Clause
"""Folding of node names into node sets that Slurm accepts as well; `weft.fabric.nodeset` expands them."""

import re
from collections import defaultdict
from collections.abc import Iterable, Sequence

from weft.fabric.nodeset import LITERAL, MOST_DIGITS, natural

LONGEST_RANGED = 16
LONGEST_TEXT = 60
NUMBER = re.compile(r"([0-9]+)")
Name = tuple[str, ...]  # a name that ends in a number: text, number, text, number ..


def fold(names: Iterable[str]) -> str:
    """Names as one node set, each once: ``n[0-3]``, ``r[1-2]n[01-18]``.

    The time grows with the number of names times the numbers in each. Names that end in a letter are listed: Slurm
    refuses ``n[1-2]-ib``, which it is told for the nodes of a job.
    """
    given = sorted(set(names), key=natural)
    folded: defaultdict[Name, list[Name]] = defaultdict(list)
    parts: list[str] = []
    for name in given:
        pieces = NUMBER.split(name)
        if pieces[-1] or len(pieces) == 1 or not LITERAL.fullmatch(name) or any(map(is_long, pieces[1::2])):
            parts.append(name)
        else:
            folded[tuple(pieces[:-1:2])].append(tuple(pieces[1::2]))
    for texts, numbers in folded.items():
        parts += (spelled(texts, each) for each in shortest(numbers))
    return ",".join(parts)


def is_long(number: str) -> bool:
    """Whether a node set cannot have the number in a bracket."""
    return len(number) > MOST_DIGITS


def shortest(numbers: Sequence[Name]) -> list[Name]:
    """Names alike but for their numbers, folded from the last number on or from the first, whichever gives less."""
    width = len(numbers[0])
    ways = [list(range(width))] if width == 1 else [list(range(width))[::-1], list(range(width))]
    return min((along(way, numbers) for way in ways), key=len)


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
    for first in sorted(left, key=lambda number: (not is_padded(number), int(number), number)):
        if first not in left:
            continue
        last, width = int(first), len(first)
        left.remove(first)
        while (following := f"{last + 1:0{width}}") in left:
            left.remove(following)
            last += 1
        found.append((int(first), first if last == int(first) else f"{first}-{last:0{width}}"))
    return [text for _, text in sorted(found)]


def is_padded(number: str) -> bool:
    """Whether a number is written with leading zeros."""
    return number[0] == "0" and len(number) > 1


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
