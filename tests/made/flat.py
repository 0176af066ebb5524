# SPDX-License-Identifier: BSD-3-Clause
"""A reader of the flat plan by the rules that native/measure/record/plan.cpp states: what Weft writes is read back."""

import re
from collections.abc import Mapping
from dataclasses import dataclass

from weft.errors import DataError

VERSION = "2"


@dataclass(frozen=True)
class FlatPlan:
    """A flat plan: the keys of its head, and of each cell. Values are texts as the kernels see them."""

    head: Mapping[str, str]
    cells: tuple[Mapping[str, str], ...]


def read_flat(text: str) -> FlatPlan:
    """Read a flat plan, as the kernels do.

    Raises
    ------
    DataError
        It is none, or of another version.
    """
    head: dict[str, str] = {}
    cells: list[dict[str, str]] = []
    into = head
    for number, line in enumerate(text.split("\n"), 1):
        key, _, value = line.strip(" \t\r").partition(" ")
        if not key or key.startswith("#"):
            continue
        if key == "cell":
            into = {}
            cells.append(into)
        if key == "end":
            into = head
        else:
            into[key] = unquoted(value.strip(" \t\r"), number)
    if head.get("weft-plan") != VERSION:
        raise DataError(f"no flat plan of version {VERSION}: {text[:40]!r}", "start the study again")
    return FlatPlan(head, tuple(cells))


def unquoted(value: str, number: int) -> str:
    """The text that a value stands for."""
    if not value.startswith('"'):
        return value
    if not re.fullmatch(r'"(?:[^"\\]|\\["\\]|\\x[0-9a-f]{2})*"', value):
        raise DataError(f"flat plan, line {number}: {value!r} is no text in quotes", "start the study again")
    found = re.sub(rb'\\(?:(["\\])|x(..))', lambda m: m[1] or bytes([int(m[2], 16)]), value[1:-1].encode())
    return found.decode(errors="surrogateescape")
