# SPDX-License-Identifier: BSD-3-Clause
"""The papers' figures, computed again on simulated machines and compared with the printed ones.

Each part is a module here with ``def compute(bench: Bench) -> Part``; the papers' figures are in the ``.toml`` files.
"""

import tomllib
from collections.abc import Iterable
from dataclasses import dataclass, field
from importlib import import_module
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from weft.errors import StudyError
from weft.report.tabular import Table

if TYPE_CHECKING:
    from weft.papers.bench import Bench

PARTS = {
    "tables": "Tables 4.2 and 4.4 of paper 000, three cells fitted",
    "datasheet": "the same tables with a data sheet's rate and SimGrid's InfiniBand model",
    "machines": "published all-to-alls of machines that nobody fitted",
    "calls": "Table 4.6 of paper 000: three calls, cold and warm",
    "memory": "Table 4.5 of paper 000: where memory ends",
    "scaling": "the papers' verdicts on strong and weak scaling",
    "beyond": "tara extended to 576 nodes",
    "yellowstone": "the pairs of paper 002, by hops",
    "biruni": "the four collectives of paper 004",
}


@dataclass(frozen=True)
class Part:
    """The result of one part."""

    name: str  # on the command line
    title: str  # heading of its tables
    found: tuple[str, ...]  # findings as sentences, the most important first
    tables: tuple[Table, ...]  # of paper and simulation side by side
    values: dict[str, float] = field(default_factory=dict[str, float])  # for tests: errors as fractions, times in s


def published(cluster: str) -> dict[str, Any]:
    """The figures that the papers print for a cluster: ``tara``, ``yellowstone`` or ``biruni``."""
    return tomllib.loads((files("weft.papers") / f"{cluster}.toml").read_text())


def wanted(names: Iterable[str]) -> list[str]:
    """The parts asked for, each once, or all; StudyError for an unknown name, before any part runs."""
    chosen = list(dict.fromkeys(names)) or list(PARTS)
    for name in chosen:
        if name not in PARTS:
            raise StudyError(f'no part "{name}"', f"one of {', '.join(PARTS)}")
    return chosen


def compute(name: str, bench: "Bench") -> Part:
    """Compute one part."""
    wanted([name])
    return import_module(f"weft.papers.{name}").compute(bench)
