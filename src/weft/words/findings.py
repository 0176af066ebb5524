# SPDX-License-Identifier: BSD-3-Clause
"""Findings about the numbers in words: one line a rule, with its count and the worst of them."""

from weft.analyse.tables.claims import ClaimRow, extras
from weft.format import plural
from weft.words.row import Row


def say(claim: ClaimRow) -> Row:
    """``launch medians vary ... : A warm, N = 2 (and 12 others)``."""
    more, count = extras(claim), int(claim["value"] or 1)
    others = f" (and {plural(count - 1, 'other')})" if count > 1 else ""
    return Row(claim["id"], more["level"], f"{claim['subject']}: {more['what']}{others}", more["remedy"])
