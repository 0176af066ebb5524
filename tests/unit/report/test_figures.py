# SPDX-License-Identifier: BSD-3-Clause
"""Figures: every mark stands for a number of the tables, and each figure is drawn without a browser."""

import json
from itertools import pairwise
from pathlib import Path
from typing import Any

import altair
import pytest
import vl_convert
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from made.run import Made, make_run, tara_like
from made.view import load_view
from weft.files.shipped import VEGALITE, vega_bundle
from weft.report.figures import Figure
from weft.report.figures.spread import links, places, thinned
from weft.report.figures.theme import dodged
from weft.report.html import write_figures
from weft.report.page import all_figures
from weft.report.view import RunView

Row = dict[str, Any]


@pytest.fixture(scope="module")
def local(tmp_path_factory: pytest.TempPathFactory) -> RunView:
    return load_view(make_run(tmp_path_factory.mktemp("runs") / "local"))


@pytest.fixture(scope="module")
def tara(tmp_path_factory: pytest.TempPathFactory) -> RunView:
    failures = {("c007", launch): "timeout" for launch in (1, 2, 3)}
    return load_view(make_run(tmp_path_factory.mktemp("runs") / "tara", tara_like(failures=failures)))


def figure(view: RunView, name: str) -> Figure:
    return next(figure for figure in all_figures(view) if figure.name == name)


def data(figure: Figure) -> list[Row]:
    """All rows that a figure's layers draw: Altair gathers them, each set once, at the top of a chart."""
    sets = [rows for panel in figure.specifications() for rows in panel["datasets"].values()]
    return [row for rows in sets for row in rows]


def test_a_run_has_the_figures_of_the_papers(tara: RunView) -> None:
    names = [figure.name for figure in all_figures(tara)]
    assert names == ["time-constant-global", "time-constant-local", "calls-constant-global", "schematic"]
    assert all(figure.reading and figure.key for figure in all_figures(tara))


def test_a_time_is_drawn_where_the_table_has_it(tara: RunView) -> None:
    drawn = {row["x"]: row for row in data(figure(tara, "time-constant-global")) if "samples" in row}
    assert sorted(drawn) == [1, 3, 9, 18, 36]
    for row in tara.of_series(tara.plan.series[0], "C"):
        assert drawn[row["nodes"]]["y"] == pytest.approx(row["median_s"])
        assert drawn[row["nodes"]]["bound"] == pytest.approx(row["bound_s"])


def test_a_point_without_a_time_is_said_to_be_missing(tara: RunView) -> None:
    missing = [row for row in data(figure(tara, "time-constant-local")) if row.get("status") == "timeout"]
    assert [row["x"] for row in missing] == [18]


def test_each_launch_has_its_dot(local: RunView) -> None:
    dots = [row for row in data(figure(local, "time-constant-local")) if "launch" in row]
    assert sorted((row["x"], row["launch"]) for row in dots) == [(p, k) for p in (1, 2, 4) for k in (1, 2, 3)]


def test_points_with_more_ranks_than_cores_are_hollow(local: RunView) -> None:
    crowded = {row["x"]: row["crowded"] for row in data(figure(local, "time-constant-global")) if "crowded" in row}
    assert crowded == {1: False, 2: False, 4: True}


def test_strong_scaling_over_many_nodes_is_logarithmic_and_weak_starts_at_nought(tara: RunView) -> None:
    strong = json.dumps(figure(tara, "time-constant-global").specifications())
    weak = json.dumps(figure(tara, "time-constant-local").specifications())
    assert '"type": "log"' in strong
    assert '"type": "log"' not in weak
    assert '"domain": [0' in weak.replace("[0.0", "[0")


def test_simulated_figures_say_so(tara: RunView, local: RunView) -> None:
    assert all("(simulated)" in figure.title for figure in all_figures(tara) if figure.name != "schematic")
    assert not any("simulated" in figure.title for figure in all_figures(local))


@pytest.mark.parametrize(("number", "pairs"), [(2, 1), (3, 3), (9, 36), (18, 153), (36, 630)])
def test_the_schematic_has_a_line_for_every_pair(number: int, pairs: int) -> None:
    found = links(number)
    ends = {frozenset({(row["x"], row["y"]), (row["x2"], row["y2"])}) for row in found}
    assert len(found) == len(ends) == pairs
    assert len(set(places(number))) == number
    assert all(x * x + y * y == pytest.approx(1, abs=1e-3) for x, y in places(number))


def test_the_schematic_shows_the_three_largest_numbers_of_nodes(tara: RunView, local: RunView) -> None:
    titles = [panel["title"]["text"] for panel in figure(tara, "schematic").specifications()]
    assert titles == ["N = 9: 36 pairs", "N = 18: 153 pairs", "N = 36: 630 pairs"]
    titles = [panel["title"]["text"] for panel in figure(local, "schematic").specifications()]
    assert titles == ["p = 2: 1 pair", "p = 4: 6 pairs"]


@given(st.lists(st.floats(-50, 50), min_size=1, max_size=8), st.floats(0.1, 5))
def test_labels_keep_apart_and_keep_their_order(wanted: list[float], gap: float) -> None:
    placed = dodged(wanted, gap)
    order = sorted(range(len(wanted)), key=lambda index: wanted[index])
    gaps = [placed[above] - placed[below] for below, above in pairwise(order)]
    assert all(found >= gap * (1 - 1e-9) for found in gaps)
    apart = [wanted[above] - wanted[below] for below, above in pairwise(order)]
    if all(found >= gap for found in apart):
        assert placed == pytest.approx(wanted)


@given(st.lists(st.floats(0, 1), min_size=1, max_size=500))
def test_thinning_keeps_the_extremes(times: list[float]) -> None:
    kept = [row["time_s"] for row in thinned([{"time_s": time} for time in times])]
    assert len(kept) == min(60, len(times))
    assert (kept[0], kept[-1]) == (min(times), max(times))


def test_every_figure_becomes_svg_pdf_and_png(local: RunView, tmp_path: Path) -> None:
    figures = all_figures(local)
    written = write_figures(figures, tmp_path / "figures")
    assert len(written) == 3 * len(figures)
    for figure in figures:
        svg, pdf, png = (tmp_path / "figures" / f"{figure.name}.{ending}" for ending in ("svg", "pdf", "png"))
        assert svg.read_text().startswith("<svg")
        assert figure.title.split(":")[0] in svg.read_text()
        assert pdf.read_bytes().startswith(b"%PDF")
        with Image.open(png) as picture:
            assert picture.width > 600
            colours = picture.convert("RGB").getcolors(1 << 20)
            assert colours is not None
            assert len(colours) > 5


def test_the_page_draws_with_the_version_that_made_the_charts() -> None:
    """The shipped script is what vl-convert bundles of the version that Altair writes."""
    assert altair.SCHEMA_VERSION.split(".")[0] == f"v{VEGALITE.partition('.')[0]}"
    bundle = vl_convert.javascript_bundle("window.vegaEmbed = vegaEmbed;", vl_version=VEGALITE)
    assert vega_bundle() == "(() => {" + bundle.replace("</script", "<\\/script") + "})();"


def test_a_run_with_nothing_measured_has_only_the_schematic(tmp_path: Path) -> None:
    run = make_run(tmp_path / "run", Made(samples=3))
    for path in (run / "cells").iterdir():
        path.unlink()
    assert [figure.name for figure in all_figures(load_view(run))] == ["schematic"]


def test_the_longest_and_the_shortest_round_are_named_and_the_link_that_the_longest_fills() -> None:
    from weft.report.figures.breakdown import round_reading

    def row(distance: int, seconds: float, link: str = "") -> Any:
        return {"distance": distance, "seconds": seconds, "link": link}

    rows = [row(0, 9e-6), row(1, 2e-6), row(2, 4e-6, "link leaf0 up"), row(3, 3e-6)]
    text = "Round 2 takes longest, 4 us; round 1 is the shortest, 2 us. Round 2 fills link leaf0 up."
    assert round_reading(rows) == text
    assert round_reading([row(1, 2e-6), row(2, 2e-6)]) == "Round 1 takes longest, 2 us."
