# SPDX-License-Identifier: BSD-3-Clause
"""Findings about a fabric: one for each cause, however often it occurs."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

Severity = Literal["error", "warning", "note"]
EXAMPLES = 3


@dataclass(frozen=True)
class Finding:
    """Something that a check found."""

    # ``error``: the description contradicts itself, and results would mean nothing. ``warning``: probably a fault of
    # the machine or a slip in the file. ``note``: worth knowing when numbers are read.
    severity: Severity
    what: str  # what was found, and where
    cause: str  # its usual cause, or its effect on results
    remedy: str  # the next step


def found(
    severity: Severity, places: Sequence[str], what: str, cause: str, remedy: str, count: int | None = None
) -> list[Finding]:
    """One finding for all ``places``, or none when there are none.

    ``{n}`` in ``what`` becomes their number; ``{s}``, ``{es}``, ``{are}`` and ``{have}`` agree with it. If ``places``
    holds only the first of many, ``count`` is the number of all.
    """
    count = len(places) if count is None else count
    if not count:
        return []
    one = count == 1
    words = {"n": str(count), "s": "" if one else "s", "es": "" if one else "es"}
    words |= {"are": "is" if one else "are", "have": "has" if one else "have"}
    for word, meant in words.items():
        what = what.replace(f"{{{word}}}", meant)
    more = f" and {count - EXAMPLES} more" if count > EXAMPLES else ""
    listed = "; ".join(places[:EXAMPLES]) + more
    return [Finding(severity, f"{what}: {listed}", cause, remedy)]
