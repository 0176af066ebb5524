# SPDX-License-Identifier: BSD-3-Clause
"""Findings for display: many of one kind are merged."""

from collections.abc import Sequence

from weft.analyse.tables.answers import FindingRow


def condensed(found: Sequence[FindingRow], most: int = 3) -> list[FindingRow]:
    """The findings; if there are more than ``most`` of one kind, these are merged into the first."""
    kinds: dict[tuple[str, str, str], list[FindingRow]] = {}
    for each in found:
        kinds.setdefault((each["level"], each["rule"], each["remedy"]), []).append(each)
    shown: list[FindingRow] = []
    for alike in kinds.values():
        if len(alike) <= most:
            shown += alike
        else:
            first = alike[0].copy()
            first["where"] += f" (and {len(alike) - 1} more)"
            shown.append(first)
    return shown
