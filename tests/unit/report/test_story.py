# SPDX-License-Identifier: BSD-3-Clause
"""Stories: each kernel tells its own, pictures stand beside charts, a kernel without a story is still shown."""

from pathlib import Path

import pytest
from PIL import Image

from made.run import Made, make_run
from made.view import load_view
from weft.report.figures import Picture
from weft.report.html import write_figures
from weft.report.page import render
from weft.report.stories.exchange import ExchangeStory
from weft.report.view import RunView, Story, story_of

SVG = (
    '<svg xmlns="http://www.w3.org/2000/svg" width="80" height="40" viewBox="0 0 80 40">'
    '<rect width="80" height="40" fill="#123456"/></svg>'
)
PICTURE = Picture("drawn", "A drawing", "Blue: a box.", "There is one box.", SVG, '<p id="under">the list</p>')


@pytest.fixture(scope="module")
def view(tmp_path_factory: pytest.TempPathFactory) -> RunView:
    return load_view(make_run(tmp_path_factory.mktemp("runs") / "run", Made(samples=3)))


def test_exchange_has_a_story_of_its_own_and_an_unknown_kernel_a_plain_one() -> None:
    assert isinstance(story_of("exchange"), ExchangeStory)
    assert type(story_of("made-up")) is Story


def test_a_plain_story_lists_every_call_with_its_time(view: RunView) -> None:
    (table,) = Story().tables(view)
    assert len(table.rows) == 1 + len(view.rows)
    assert table.rows[1][:4] == ("A", "cold", "1", "1")
    assert Story().figures(view) == []


def test_a_picture_stands_in_the_page_as_it_was_drawn(view: RunView) -> None:
    html = render([view], [[PICTURE]])
    assert SVG in html
    assert '<p id="under">the list</p>' in html
    assert 'aria-label="A drawing. There is one box."' in html
    assert 'class="chart"' not in html


def test_a_picture_becomes_svg_pdf_and_png(tmp_path: Path) -> None:
    svg, pdf, png = write_figures([PICTURE], tmp_path)
    assert svg.read_text() == SVG
    assert pdf.read_bytes().startswith(b"%PDF")
    with Image.open(png) as image:
        assert image.convert("RGB").getpixel((20, 20)) == (18, 52, 86)
