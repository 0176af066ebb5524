# SPDX-License-Identifier: BSD-3-Clause
"""The papers' figures, computed again on simulated machines and compared with the printed ones.
Each part is a module here with ``def compute(bench: Bench) -> Part``; the papers' figures are in the ``.toml`` files.
"""

import json
import tomllib
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from importlib.resources import files
from math import isnan
from pathlib import Path
from typing import Any

from weft import __version__
from weft.analyse.tables.times import CallRow
from weft.errors import StudyError
from weft.fabric import Fabric, load_fabric
from weft.format import measured_seconds, relative_error
from weft.kernel.studies import load_study
from weft.launch import launcher_for
from weft.report.html import fill, write_page
from weft.report.tabular import Table, markdown
from weft.report.view import RunView, load_view
from weft.run.one import run_study

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
TITLE = "The papers' figures, simulated"
OPENING = (
    "Every time here that is not the paper's comes from a simulation (SimGrid's SMPI running Weft's own kernels on a "
    "fabric file) or, where it says so, from a lower bound. None was measured on the clusters."
)


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


@dataclass(frozen=True)
class Bench:
    """A folder with the runs."""

    folder: Path  # with a run folder for each study and fabric
    say: Callable[[str], None] = lambda _: None  # takes a line of progress before each step that takes seconds

    def run(self, study: str, fabric: str | Fabric) -> RunView:
        """Run a study on a fabric, or use the existing result; DataError for another version's, LaunchError."""
        what = load_study(study)
        where = load_fabric(fabric) if isinstance(fabric, str) else fabric
        into = self.folder / f"{what.name}-on-{where.name}"
        self.say(f"{what.name} on {where.name} (simulated)")
        run_study(what, where, into, launcher_for(where, None, self.say, repeatable=True))
        return load_view(into)


def error_text(simulated: float | None, paper: float | None) -> str:
    """Relative error in per cent, or a dash if there is nothing to compare."""
    return "–" if simulated is None or not paper else relative_error(simulated / paper - 1)


def paper_text(seconds: float, *, below: bool = False) -> str:
    """A time as the papers print it, with two decimals."""
    return "ERR" if isnan(seconds) else f"{'< ' if below else ''}{seconds:.2f} s"


def time_or_status(row: CallRow | None) -> str:
    """The simulated time of a row, or its status if it has none."""
    return "–" if row is None else measured_seconds(row["median_s"]) if row["status"] == "ok" else str(row["status"])


def row_of(
    rows: Iterable[CallRow], nodes: int, phase: str, *, call: str | None = None, series: str | None = None
) -> CallRow | None:
    """The first row on ``nodes`` nodes of a phase; of one call and one series, if these are given."""
    own = (row for row in rows if (row["nodes"], row["phase"]) == (nodes, phase) and call in (None, row["call"]))
    return next((row for row in own if series is None or series in row["series"]), None)


def seconds_of(row: CallRow | None) -> float | None:
    """The time of a row, if there is one."""
    return None if row is None else row["median_s"]


def write(parts: Sequence[Part], page: Path) -> list[Path]:
    """Write the page as .html (without external resources) and .md, and its numbers as .json."""
    check_name(page)
    html = fill("papers.html", charts=False, title=TITLE, opening=OPENING, parts=parts)
    numbers = json.dumps({part.name: part.values for part in parts}, indent=1) + "\n"
    texts = {".md": as_markdown(parts), ".html": html, ".json": numbers}
    for suffix, text in texts.items():
        write_page(page.with_suffix(suffix), text)
    return [page.with_suffix(suffix) for suffix in texts]


def check_name(page: Path) -> None:
    """Raise StudyError for a file name that :func:`write` would refuse, before any work is done."""
    if page.suffix not in (".html", ".md"):
        raise StudyError(f"{page} is neither .html nor .md", "give -o papers.html: the others are written beside it")


def as_markdown(parts: Sequence[Part]) -> str:
    """All parts in Markdown."""
    blocks = [f"# {TITLE}", OPENING]
    for part in parts:
        blocks += [f"## {part.title[0].upper()}{part.title[1:]}", *part.found, *map(markdown, part.tables)]
    return "\n\n".join([*blocks, f"Made by `weft papers`, Weft {__version__}."]) + "\n"
