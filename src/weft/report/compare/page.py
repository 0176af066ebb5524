# SPDX-License-Identifier: BSD-3-Clause
"""One offline page about a comparison: differences, figures, tables, and the provenance of the runs."""

import shlex
from collections.abc import Collection, Sequence
from pathlib import Path

from weft.analyse.compare import Verdict
from weft.analyse.compare.claims import claim_gate
from weft.report import facts
from weft.report.compare.figures import all_figures
from weft.report.compare.load import Compare
from weft.report.compare.proof import draw_ratios
from weft.report.compare.tables import MEANING, all_tables
from weft.report.figures.files import write_figures
from weft.report.figures.theme import Figure
from weft.report.html import figure_values, fill, write_page
from weft.words.say import say


def write(found: Compare, verdicts: Sequence[Verdict], path: Path, *, formats: Collection[str] = ()) -> Path:
    """Write the page, on request each figure as a file beside it (in ``figures/``), and return its path.

    Parameters
    ----------
    formats
        Formats of the figures' files: ``svg``, ``pdf``, ``png``; none by default.

    Raises
    ------
    DataError
        The page cannot be written.
    """
    figures = all_figures(found)
    write_page(path, render(found, verdicts, figures))
    if formats:
        write_figures(figures, path.parent / "figures", formats)
    return path


def render(found: Compare, verdicts: Sequence[Verdict], figures: Sequence[Figure]) -> str:
    """The page's HTML."""
    return fill(
        "compare.html",
        command=again(found),
        title=found.title,
        label=found.label,
        cards=[(card, claims[0]["confidence"]) for card, claims in zip(found.cards, found.claims, strict=True)],
        tables=[table for each in found.comparisons for table in all_tables(each)],
        gates=[(say(claim_gate(each)), each.state) for each in verdicts],
        proof=figure_values("ratios", draw_ratios(found)),
        figures=[figure_values(figure.name, figure) for figure in figures],
        runs=[{"name": side.name, "provenance": provenance(found, index)} for index, side in enumerate(found.sides)],
        differences=differences(found),
        meaning=MEANING,
    )


def again(found: Compare, *options: str) -> str:
    """The command that compares the runs once more."""
    return shlex.join(["weft", "compare", *options, *(str(view.path) for view in found.views), "-o", "compare.html"])


def provenance(found: Compare, index: int) -> facts.Facts:
    """Provenance of a run, with its settings."""
    view = found.views[index]
    return [*facts.provenance(view), *((f"setting {name}", value) for name, value in facts.settings(view))]


def differences(found: Compare) -> list[tuple[str, list[str]]]:
    """Facts in which the runs differ: the candidates for the cause of a difference in time.

    The folder, its date and the seed always differ and are left out.
    """
    runs = [dict(provenance(found, index)) for index in range(len(found.views))]
    names = dict.fromkeys(name for run in runs for name in run)
    idle = {"Run folder", "Made", "Seed", "Timer"}
    listed = [(name, [run.get(name, "not set") for run in runs]) for name in names if name not in idle]
    return [(name, values) for name, values in listed if len(set(values)) > 1]
