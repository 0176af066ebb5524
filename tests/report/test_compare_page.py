# SPDX-License-Identifier: BSD-3-Clause
"""The page of a comparison in a real browser: every figure drawn, nothing logged, nothing wider than the screen."""

import re
from pathlib import Path

import pytest
from PIL import Image
from test_page import Reader, browse, in_browser, without_contents

from made.run import make_run, tara_like
from weft.analyse.compare.claims import decide, parse_gate
from weft.report.compare import load_compare
from weft.report.compare.page import write
from weft.run.refresh import refresh_compared

pytestmark = pytest.mark.report


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two clusters of which one has the faster network."""
    folder = tmp_path_factory.mktemp("compare")
    slow, fast = (tara_like(kind="slurm", samples=5) for _ in range(2))
    inner = fast.seconds
    fast.seconds = lambda nodes, ranks, local: inner(nodes, ranks, local) * (0.3 if nodes > 1 else 1)
    fast.fabric = fast.fabric.replace("made-cluster", "fast-cluster")
    for each in (slow, fast):
        each.study = each.study.replace("launches = 3", "launches = 4")
    runs = [make_run(folder / "slow", slow), make_run(folder / "fast", fast)]
    refresh_compared(runs)
    found = load_compare(runs, phases=("cold", "warm"))
    return write(found, [decide(parse_gate("faster:2"), found.comparisons)], folder / "page.html")


@in_browser
def test_every_figure_is_drawn_and_the_console_has_no_errors(page: Path, tmp_path: Path) -> None:
    dom, errors = browse(page, tmp_path / "profile", "--dump-dom")
    assert errors == []
    charts = Reader(page.read_text()).charts
    assert charts == 24  # three calls in two series, cold and warm, times and ratios
    assert dom.count('data-drawn="yes"') == charts
    drawings = [each for each in re.findall(r"<svg .*?</svg>", dom, re.DOTALL) if "mark-group" in each]
    assert min(len(re.findall(r'class="mark-(?:symbol|line|rule|area)', each)) for each in drawings) >= 3
    assert "could not be drawn" not in Reader(dom).text


@in_browser
@pytest.mark.parametrize("width", [1280, 390])
def test_the_page_is_not_wider_than_the_screen_and_not_empty(page: Path, tmp_path: Path, width: int) -> None:
    picture = tmp_path / "page.png"
    _, errors = browse(page, tmp_path / "profile", f"--window-size={width},2400", f"--screenshot={picture}")
    assert errors == []
    with Image.open(picture) as image:
        edge = image.convert("L").crop((width - 3, 0, width, 2400)).getextrema()
        colours = image.convert("RGB").getcolors(1 << 24)
    assert edge[0] > 225, "something reaches over the right edge"
    assert colours is not None
    assert len(colours) > 100


def test_the_page_needs_no_network_and_says_the_answer_first(page: Path) -> None:
    reader = Reader(without_contents(page))
    assert all(source.startswith(("#", "data:")) for source in reader.sources)
    wanted = ["Inconclusive", "Gate faster:2: failed", "Figures", "What differs", "Tables", "Provenance"]
    places = [reader.text.index(word) for word in wanted]
    assert places == sorted(places)
