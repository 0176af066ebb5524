# SPDX-License-Identifier: BSD-3-Clause
"""One offline page about one or several runs: verdict, figures, tables, warnings, provenance."""

import json
import re
from collections.abc import Sequence
from contextlib import suppress
from functools import lru_cache
from importlib.metadata import version
from importlib.resources import files
from pathlib import Path
from typing import Any

from weft import __version__
from weft.analyse.checks import condensed
from weft.errors import WeftError
from weft.folder import explain, write_atomic
from weft.report import facts
from weft.report.figures import all_figures
from weft.report.figures.files import vegalite_version, write_figures
from weft.report.figures.picture import Picture
from weft.report.figures.theme import Figure
from weft.report.tables import MEANING, all_tables
from weft.report.view import RunView, load_view
from weft.shipped import cache

_BOUND = re.compile(r"(?P<main>[\d.,]+ (?:s|ms|µs|ns|[kMGT]?B/s))(?:, (?P<of>.*)| (?P<interval>\(.*\)))")


def write(folders: Sequence[Any], path: Path, *, files_too: bool = True, engine: str | None = None) -> Path:
    """Write the page, and beside it each figure as SVG, PDF and PNG (in ``figures/``), and return its path.

    Parameters
    ----------
    folders
        Run folders, or paths of them.
    path
        The page. Figures of several runs go into a folder each: ``figures/<run>/``.
    files_too
        Whether to write the figures' files.
    engine
        URL of the engine that makes the runs' tables anew; None keeps what is there.

    Raises
    ------
    DataError
        A run cannot be read, or the page cannot be written.
    WeftError
        No run was given.
    """
    if not folders:
        raise WeftError("no run was given to report on", "weft report RUN... -o report.html")
    views = [load_view(folder, engine) for folder in folders]
    figures = [all_figures(view) for view in views]
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise explain(path, error) from error
    write_atomic(path, render(views, figures).encode())
    if files_too:
        for view, own in zip(views, figures, strict=True):
            folder = path.parent / "figures"
            write_figures(own, folder if len(views) == 1 else folder / view.path.name)
    return path


def render(views: Sequence[RunView], figures: Sequence[Sequence[Figure | Picture]]) -> str:
    """The page's HTML."""
    from jinja2 import Environment, PackageLoader, StrictUndefined
    from markupsafe import Markup

    environment = Environment(
        loader=PackageLoader("weft.report", "template"), autoescape=True, undefined=StrictUndefined, trim_blocks=True
    )
    filters: dict[str, Any] = environment.filters
    filters["parts"] = parts
    filters["json"] = embedded
    own = files("weft.report") / "template"
    runs = [
        _run(index, view, own_figures) for index, (view, own_figures) in enumerate(zip(views, figures, strict=True))
    ]
    names = list(dict.fromkeys(view.titled(view.name) for view in views))
    return environment.get_template("page.html").render(
        title=" · ".join(names),
        runs=runs,
        version=__version__,
        style=Markup((own / "style.css").read_text()),
        script=Markup((own / "page.js").read_text()),
        vega=Markup(vega_bundle()),
        meaning=MEANING,
    )


def _run(index: int, view: RunView, figures: Sequence[Figure | Picture]) -> dict[str, Any]:
    """What the template needs to know of a run."""
    return {
        "id": f"run{index}",
        "name": view.name,
        "label": view.label,
        "title": view.plan.title,
        "mpi": view.mpi,
        "headline": view.headline,
        "verdicts": view.verdicts,
        "figures": [_figure(f"run{index}-{figure.name}", figure) for figure in figures],
        "tables": all_tables(view),
        "findings": condensed(view.findings),
        "how": facts.how_measured(view),
        "provenance": facts.provenance(view),
        "settings": facts.settings(view),
        "floor": facts.floor_facts(view),
        "notes": view.plan.notes,
    }


def _figure(place: str, figure: Figure | Picture) -> dict[str, Any]:
    """A figure as the template sets it: panels of charts, or a drawing that needs no script."""
    from markupsafe import Markup

    said = {"id": place, "title": figure.title, "key": figure.key, "reading": figure.reading}
    if isinstance(figure, Picture):
        return said | {"panels": [], "svg": Markup(figure.svg), "extra": Markup(figure.extra_html)}
    return said | {"panels": figure.specifications(), "svg": "", "extra": ""}


def parts(cell: str) -> tuple[str, str]:
    """A table's cell as its main number and what stands small beneath it: interval, or the bound's name."""
    found = _BOUND.fullmatch(cell)
    return (found["main"], found["of"] or found["interval"]) if found else (cell, "")


def embedded(value: Any) -> Any:
    """JSON as Markup that cannot end the script element it stands in."""
    from markupsafe import Markup

    text = json.dumps(value, allow_nan=False, separators=(",", ":"), ensure_ascii=False).replace("<", "\\u003c")
    return Markup(text)


@lru_cache(maxsize=1)
def vega_bundle() -> str:
    """Vega, Vega-Lite and Vega-Embed as one script without imports, closed off so that its names stay its own.

    Bundling takes three seconds and depends on nothing but two versions, so it is done once and kept.
    """
    import vl_convert

    kept = cache() / f"vega-{vegalite_version()}-vl-convert-{version('vl-convert-python')}.js"
    if kept.is_file():
        return kept.read_text()
    bundle = vl_convert.javascript_bundle("window.vegaEmbed = vegaEmbed;", vl_version=vegalite_version())
    script = "(() => {" + bundle.replace("</script", "<\\/script") + "})();"
    with suppress(OSError, WeftError):  # no room for a cache: the page is made all the same
        kept.parent.mkdir(parents=True, exist_ok=True)
        write_atomic(kept, script.encode())
    return script
