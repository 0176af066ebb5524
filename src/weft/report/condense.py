# SPDX-License-Identifier: BSD-3-Clause
"""Findings for display: many of one kind stand behind the worst of them."""

from collections.abc import Sequence
from typing import NamedTuple

from weft.analyse.tables.answers import FindingRow


class Told(NamedTuple):
    """A finding that is shown, and those of its kind that stand behind it."""

    finding: FindingRow
    others: list[FindingRow]


def kinds(found: Sequence[FindingRow], most: int = 3) -> list[Told]:
    """The findings; many of one kind stand behind its first, the worst (`weft.analyse.checks`)."""
    alike: dict[tuple[str, str, str], list[FindingRow]] = {}
    for each in found:
        alike.setdefault((each["level"], each["rule"], each["remedy"]), []).append(each)
    shown: list[Told] = []
    for own in alike.values():
        if len(own) <= most:
            shown += [Told(each, []) for each in own]
        else:
            first = own[0].copy()
            first["where"] += f" (and {len(own) - 1} more)"
            shown.append(Told(first, own[1:]))
    return shown


def condensed(found: Sequence[FindingRow], most: int = 3) -> list[FindingRow]:
    """The findings of :func:`kinds` that are shown."""
    return [told.finding for told in kinds(found, most)]
