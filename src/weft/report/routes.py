# SPDX-License-Identifier: BSD-3-Clause
"""The page of ``weft route show``: the verdict, engines side by side, each tree coloured by load, the fullest links."""

from pathlib import Path
from typing import Any

from weft.report.html import fill, paint_for_page, write_page
from weft.report.tabular import Table, Words
from weft.route.compare import Comparison, Engine, Rows, engine_rows, link_rows
from weft.route.show import drawing, verdict


def write_route_page(found: Comparison, title: str, path: Path) -> None:
    """Write the page of a comparison of routes. Raises DataError: the disk is full, or the folder cannot be written."""
    engines = [_engine(found, engine, title) for engine in found.engines]
    write_page(
        path,
        fill("routes.html", title=title, verdict=verdict(found), scores=_table(engine_rows(found)), engines=engines),
    )


def _engine(found: Comparison, engine: Engine, title: str) -> dict[str, Any]:
    return {
        "name": engine.name,
        "routing": engine.routes.network.routing,
        "note": engine.note,
        "drawing": paint_for_page(drawing(found, engine, title).to_dict()),
        "links": _table(link_rows(engine)) if engine.fullest else None,
        "findings": engine.findings,
    }


def _table(rows: Rows) -> Table:
    columns = tuple(Words(name) if index in rows.words else name for index, name in enumerate(rows.columns))
    return Table(rows.title, columns, rows.rows)
