# SPDX-License-Identifier: BSD-3-Clause
"""Offline pages: of one or several runs (verdict, figures, tables, warnings, provenance), and of routes."""

import shlex
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from weft.analyse.tables.claims import INCONCLUSIVE, ClaimRow
from weft.analyse.tables.times import timed
from weft.errors import CompareError, WeftError
from weft.files.atomic import guard
from weft.format import plural
from weft.report import method
from weft.report.card import call_title, card_of, with_folder
from weft.report.figures import Figure, Figures, Picture
from weft.report.figures.breakdown import breakdown_figures
from weft.report.figures.proof import links_figure
from weft.report.html import figure_values, fill, paint_for_page, write_figures, write_page
from weft.report.method import how_measured
from weft.report.tables import all_tables, meaning, others_of
from weft.report.tabular import Table, Words
from weft.report.view import RunView, load_view
from weft.route.compare import Comparison, Rows, engine_rows, link_rows
from weft.route.show import drawing, verdict
from weft.store.folder import RunFolder
from weft.words import Row
from weft.words.card import Card, say

NO_TIME = "No figures: no cell of this run has a time."
NO_FIGURES = "Runs of this kernel have no figures; the tables have their times."
MOST_REMEDIES = 12


def write_route_page(found: Comparison, title: str, path: Path) -> None:
    """Write the page of a comparison of routes. Raises DataError: the disk is full, or the folder cannot be written."""
    engines = [
        {
            "name": engine.name, "routing": engine.routes.network.routing, "note": engine.note,
            "drawing": paint_for_page(drawing(found, engine, title).to_dict()),
            "links": _table(link_rows(engine)) if engine.fullest else None, "findings": engine.findings,
        }
        for engine in found.engines
    ]  # fmt: skip
    scores = _table(engine_rows(found))
    write_page(path, fill("routes.html", title=title, verdict=verdict(found), scores=scores, engines=engines))


def _table(rows: Rows) -> Table:
    columns = tuple(Words(name) if index in rows.words else name for index, name in enumerate(rows.columns))
    return Table(rows.title, columns, rows.rows)


@dataclass(frozen=True)
class Front:
    """The answer that several runs give together."""

    card: Card
    proof: Picture | Figure | None  # the picture beside it; None for none
    table: Table  # one row for each of them, perhaps more
    notes: tuple[str, ...] = ()  # what else is to be known
    question: str = "What would help?"  # what the page answers


def write(folders: Sequence[Any], path: Path, *, formats: Collection[str] = (), front: Front | None = None) -> Path:
    """Write the page, and its figures as files of some ``formats`` (svg, pdf, png) into ``figures/``; the path.
    DataError: a run cannot be read, the page not written, or figures would leave the run's folder. WeftError: no run.
    """
    if not folders:
        raise WeftError("no run was given to report on", "weft report RUN... -o report.html")
    place = RunFolder(path.parent)
    if place.meta.is_file():  # which may have come from somebody else
        guard(place.path)
    views = [load_view(folder) for folder in folders]
    figures = [all_figures(view) for view in views]
    write_page(path, render(views, figures, front))
    if formats:
        for view, own in zip(views, figures, strict=True):
            folder = path.parent / "figures"
            write_figures(own, folder if len(views) == 1 else folder / view.path.name, formats)
    return path


def all_figures(view: RunView) -> Figures:
    """Every figure of a run, in the order of the page: the breakdown, its kernel's, then those of any run."""
    links = links_figure(view)
    return [*breakdown_figures(view), *view.story.figures(view), *([links] if links else [])]


def render(views: Sequence[RunView], figures: Sequence[Figures], front: Front | None = None) -> str:
    """The page's HTML."""
    runs = [_run(index, view, own) for index, (view, own) in enumerate(zip(views, figures, strict=True))]
    return fill(
        "page.html",
        title=front.card.title if front else " · ".join(dict.fromkeys(view.titled(view.name) for view in views)),
        runs=runs,
        meaning=meaning(views, [table for run in runs for table in run["tables"]]),
        shared=shared(views),
        front=front,
        proof=[figure_values("front-proof", front.proof)] if front and front.proof else [],
    )


def shared(views: Sequence[RunView]) -> dict[str, Any]:
    """How several runs compare, and their figures on one axis; nothing of runs that have no row in common."""
    if len(views) < 2:
        return {}
    from weft.report.compare import load_compare
    from weft.report.compare.figures import sheets, times_figure

    try:
        found = load_compare([view.path for view in views])
    except CompareError:
        return {}
    figures = [times_figure(found, sheet) for sheet in sheets(found) if sheet.name.endswith("warm")]
    return {
        "title": found.title,
        "cards": [card for card in found.cards if card.rows],
        "command": shlex.join(["weft", "compare", *(str(view.path) for view in views), "-o", "compare.html"]),
        "figures": [figure_values(f"shared-{figure.name}", figure) for figure in figures],
    }


def _remedy(view: RunView, claim: ClaimRow) -> tuple[Row, str]:
    """A remedy and the call that it is of; a remedy of the whole run has none."""
    of_call = claim["cell"] and claim["call"]
    return with_folder(say(claim), view.path), call_title(view, claim["cell"], claim["call"]) if of_call else ""


def _folds(view: RunView, settings: method.Facts) -> dict[str, str]:
    steps = [say(each) for each in view.claimed("breakdown") if not each["id"].startswith(("latency.", "bottleneck."))]
    cells, calls = (plural(len({row[key] for row in view.rows}), key) for key in ("cell", "call"))
    launches = plural(view.plan.measure.launches, "launch")
    return {
        "breakdown": " · ".join(f"{row.label} {row.value}" for row in steps[:5]),
        "times": f"{cells} x {calls}, first calls apart",
        "method": f"{launches}, settings that differ from the default: {len(settings)}",
    }


def _run(index: int, view: RunView, figures: Figures) -> dict[str, Any]:
    proof = view.story.proof(view, figures)
    rest = [figure for figure in figures if figure.name not in {each.name for each in proof}]
    answer = next(iter(view.claimed("answer")), None)
    silent = answer is None or answer["id"].endswith(INCONCLUSIVE)
    settings = method.settings(view)
    again = ["weft", "run", str(view.path / "study.toml"), "--on", str(view.path / "fabric.toml"), "--into", "NEW"]
    said = {"id": f"run{index}", "name": view.name, "label": view.label, "title": view.plan.title, "mpi": view.mpi}
    return said | {
        "proof": [figure_values(f"run{index}-{figure.name}", figure) for figure in proof],
        "more": _folds(view, settings),
        # an answer before none, several nodes before one
        "order": (silent, max((cell.nodes for cell in view.plan.measured), default=1) < 2),
        "card": card_of(view),
        "command": shlex.join(again),
        "digits": shlex.join(["weft", "show", str(view.path), "--format", "csv"]),
        "help": [_remedy(view, each) for each in view.claimed("remedy")[:MOST_REMEDIES]],
        "no_figures": NO_TIME if not timed(view.rows) else NO_FIGURES,
        "figures": [figure_values(f"run{index}-{figure.name}", figure) for figure in rest],
        "tables": all_tables(view),
        "findings": [(say(each), others_of(view, each)) for each in view.claimed("finding")],
        "how": how_measured(view),
        "provenance": method.provenance(view),
        "settings": settings,
        "floor": method.floor_facts(view),
        "notes": view.plan.notes,
    }
