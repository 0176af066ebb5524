# SPDX-License-Identifier: BSD-3-Clause
"""Findings about a fabric or its routes, one for each cause, however often it occurs; texts in `findings.toml`."""

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any, Literal

Severity = Literal["error", "warning", "note"]
SEVERITIES = ("error", "warning", "note")
COLOURS = {"error": "bold red", "warning": "yellow", "note": "cyan"}
EXAMPLES = 3
PLURAL = {"s": "s", "es": "es", "are": "are", "have": "have"}
SINGULAR = {"s": "", "es": "", "are": "is", "have": "has"}


@dataclass(frozen=True)
class Finding:
    """Something that a check found."""

    id: str  # its name in `findings.toml`
    # ``error``: the description contradicts itself, and results would mean nothing. ``warning``: probably a fault of
    # the machine or a slip in the file. ``note``: worth knowing when numbers are read.
    severity: Severity
    what: str  # and where
    cause: str  # the usual one, or its effect on results
    remedy: str  # the next step


@cache
def finding_texts() -> Mapping[str, Mapping[str, Any]]:
    """Severity, what, cause and remedy of each finding, by id."""
    return tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))


def finding(id: str, severity: Severity | None = None, **values: Any) -> Finding:
    """A finding with its values put in; of another severity than usual if one is given."""
    text = finding_texts()[id]
    what, cause, remedy = (text[key].format(**values) for key in ("what", "cause", "remedy"))
    return Finding(id, severity or text["severity"], what, cause, remedy)


def found(id: str, places: Sequence[str], count: int | None = None, **values: Any) -> list[Finding]:
    """One finding for all ``places``, or none when there are none; ``count`` if they are only the first of so many."""
    count = len(places) if count is None else count
    if not count:
        return []
    made = finding(id, n=count, **(SINGULAR if count == 1 else PLURAL), **values)  # pyrefly: ignore[bad-argument-type]
    more = f" and {count - EXAMPLES} more" if count > EXAMPLES else ""
    return [replace(made, what=f"{made.what}: {'; '.join(places[:EXAMPLES])}{more}")]
