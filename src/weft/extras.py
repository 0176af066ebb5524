# SPDX-License-Identifier: BSD-3-Clause
"""The two parts of an installation: what measures, and what makes tables and pages (``pip install 'weft[report]'``).

A cluster's nodes need the first alone; a run folder is carried to whoever has the second.
"""

import shlex
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path

REPORT = ("altair", "duckdb", "ibis", "pandas", "PIL", "pyarrow", "vl_convert")
"""Modules of the extra ``report``."""

INSTALL = "pip install 'weft[report]'"


def is_of_report(name: str | None) -> bool:
    """Whether a module, or a part of one, belongs to the extra ``report``."""
    return (name or "").partition(".")[0] in REPORT


def missing_report() -> tuple[str, ...]:
    """Modules of the extra ``report`` that are not installed; nothing is imported."""
    return tuple(name for name in REPORT if not _is_here(name))


def what_is_missing(missing: Sequence[str]) -> str:
    """What is not installed, in words."""
    return f"tables and pages need {', '.join(missing)}: not installed here"


def how_to_report(run: Path | None = None) -> str:
    """How tables and a page come about all the same."""
    named = shlex.quote(str(run)) if run else "RUN"
    return f"{INSTALL}, or copy the run folder to a machine that has it; then: weft report {named}"


def _is_here(name: str) -> bool:
    try:
        return find_spec(name) is not None
    except (ImportError, ValueError):
        return False
