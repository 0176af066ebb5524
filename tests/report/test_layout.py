# SPDX-License-Identifier: BSD-3-Clause
"""Every kind of page in a browser, narrow and wide, light and dark: nothing is clipped, overlaps or leaves its axis."""

import json
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest
from browser import CHROMIUM, Browser
from faults import CUT, FAULTS

from made.pages import OTHERS, RUNS, make_pages
from weft.kernel.registry import KERNELS

pytestmark = [
    pytest.mark.report,
    pytest.mark.skipif(CHROMIUM is None, reason="Chromium is not here: apt install chromium"),
]
WIDTHS = (800, 1400)
#: CSS pixels between the margins of A4 paper.
PAPER = 718
#: Pages that fold nothing away.
UNFOLDED = ("yellowstone",)
SCHEMES = ("light", "dark")
#: What the top of a page says, by its template.
HEADS = {
    "page.html": "Is the interconnect the bottleneck?",
    "compare.html": "Which is faster, by how much, how surely?",
    "routes.html": "Which link limits which traffic?",
    "trace.html": "What does the application ask of the network?",
    "papers.html": "How close does the simulation come?",
}


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """A page of each kind."""
    return make_pages(tmp_path_factory.mktemp("layout"))


def test_every_kind_of_page_is_opened(pages: dict[str, Path]) -> None:
    """Each template, kernel, grade and state of a run that the code knows stands on one of them."""
    own = files("weft.report") / "template"
    text = {name: path.read_text() for name, path in pages.items()}
    heads = {each.name: HEADS[each.name] for each in own.iterdir() if "extends" in each.read_text()}
    assert {name for name, head in heads.items() if not any(head in each for each in text.values())} == set()
    plans = [path.with_suffix("") / "plan.json" for path in pages.values()]
    kernels = {json.loads(plan.read_text())["kernel"] for plan in plans if plan.is_file()}
    assert kernels == set(KERNELS)
    whole = "".join(text.values())
    assert {grade for grade in "ABCD" if f'class="grade {grade}"' not in whole} == set()
    assert {state for state in ("memory", "timeout", "planned") if f">{state}<" not in whole} == set()
    assert {label for label in ("simulated", "virtual network") if f'chip made">{label}<' not in whole} == set()


def show(browser: Browser, page: Path, width: int, scheme: str = "light", *, unfold: bool = True) -> None:
    """Open a page in a window so wide, in the scheme."""
    browser.call("Emulation.setDeviceMetricsOverride", width=width, height=1000, deviceScaleFactor=1, mobile=False)
    paint(browser, scheme)
    browser.open(page, unfold=unfold)


def paint(browser: Browser, scheme: str, media: str = "screen") -> None:
    """Change the scheme or the medium of the open page."""
    features: list[Any] = [{"name": "prefers-color-scheme", "value": scheme}]
    browser.call("Emulation.setEmulatedMedia", media=media, features=features)


@pytest.mark.parametrize("kind", (*RUNS, *OTHERS))
def test_a_page_is_whole_at_any_width_and_in_either_scheme(kind: str, pages: dict[str, Path], browser: Browser) -> None:
    found: list[str] = []
    for width in WIDTHS:  # opened at each width, since figures are drawn for one; a scheme is style alone
        show(browser, pages[kind], width)
        for scheme in SCHEMES:
            paint(browser, scheme)
            found += [f"{width} px, {scheme}: {fault}" for fault in browser.ask(FAULTS)]
        if browser.ask(
            "[...document.querySelectorAll('.help .wide')].some(each => each.scrollWidth > each.clientWidth)"
        ):
            found.append(f"{width} px: what would help needs a scroll bar")
    assert found == []


def test_the_schemes_differ(pages: dict[str, Path], browser: Browser) -> None:
    show(browser, pages["pairs"], 800)
    colours: set[str] = set()
    for scheme in SCHEMES:
        paint(browser, scheme)
        colours.add(browser.ask("getComputedStyle(document.body).backgroundColor"))
    assert len(colours) == 2


#: A label moved so far that it lies 3 px into another.
NUDGED = """{
  const [one, other] = document.querySelectorAll(".canvas svg g.role-axis-label text");
  const [a, b] = [one, other].map((each) => each.getBoundingClientRect());
  const scale = one.getScreenCTM().a;
  const [, x, y] = other.getAttribute("transform").match(/translate\\(([^,]+),([^)]+)\\)/).map(Number);
  other.setAttribute("transform", `translate(${x + (a.right - b.left - 3) / scale},${y + (a.top - b.top) / scale})`);
}"""
#: A dot a few pixels below the lower end of its axis.
LOWEST = """{
  const plot = document.querySelector(".canvas svg g.mark-group path.background").getBoundingClientRect();
  const dot = document.querySelector(".canvas svg g.mark-symbol.role-mark path");
  const at = dot.getBoundingClientRect();
  const [, x, y] = dot.getAttribute("transform").match(/translate\\(([^,]+),([^)]+)\\)/).map(Number);
  const down = (plot.bottom - (at.top + at.bottom) / 2 + 4) / dot.getScreenCTM().a;
  dot.setAttribute("transform", `translate(${x},${y + down})`);
}"""


@pytest.mark.parametrize(
    ("broken", "told"),
    [
        ("console.error('it broke')", "console: it broke"),
        ("document.querySelector('h1').style.cssText = 'position:relative;left:2000px'", "clipped: H1"),
        ("document.querySelector('h1').style.cssText = 'width:9px;overflow:hidden;white-space:nowrap'", "cut off: H1"),
        ("document.querySelector('.wide').style.width = '90px'", "a table is clipped"),
        ("{const t = document.querySelector('.canvas svg text'); t.parentNode.append(t.cloneNode(true))}", "overlap"),
        ("document.querySelector('.canvas svg text').setAttribute('transform', 'translate(-90,9)')", "is cut off"),
        ("document.querySelector('.canvas svg.marks').style.width = '20px'", "a figure is empty"),
        (
            "document.querySelector('.mark-symbol.role-mark path').setAttribute('transform', 'translate(-300, 0)')",
            "a mark is outside of the axes",
        ),
        (
            "document.querySelector('.mark-rule.role-mark line').setAttribute('transform', 'translate(-300, 0)')",
            "a line is outside of the axes",
        ),
        ("document.querySelector('h1').style.color = '#c0c0c0'", "too little contrast (1.8)"),
        (NUDGED, "labels overlap"),
        (LOWEST, "a mark is outside of the axes"),
        (
            "document.querySelector('.role-mark path').setAttribute('transform', 'translate(NaN,3)')",
            "no place",
        ),
        ("document.querySelector('.canvas svg').style.width = '200px'", "a label is too small"),
        ("document.querySelector('details[id$=how]').id = 'run0-tables'", "two parts have one id: run0-tables"),
        ("document.querySelector('td').textContent = 'NaN ms'", "no word for people: NaN ms"),
        ("document.querySelector('td').textContent = 'None'", "no word for people: None"),
        ("document.querySelector('.canvas svg text').style.fill = '#ffe680'", "too little contrast (1.2): figure"),
    ],
)
def test_a_broken_page_is_seen_by_this_very_test(
    broken: str, told: str, pages: dict[str, Path], browser: Browser
) -> None:
    show(browser, pages["exchange"], 1400)
    assert browser.ask(FAULTS) == []
    browser.ask(broken)
    assert any(told in fault for fault in browser.ask(FAULTS))


@pytest.mark.parametrize(
    ("broken", "told"),
    [
        ("document.querySelector('article').id = 'elsewhere'", "a link leads nowhere: #run0"),
        ("document.querySelector('.answers a').href = 'https://example.org/'", "a link leads off the page"),
    ],
)
def test_a_broken_link_is_seen(broken: str, told: str, pages: dict[str, Path], browser: Browser) -> None:
    show(browser, pages["several"], 1400)
    browser.ask(broken)
    assert any(told in fault for fault in browser.ask(FAULTS))


@pytest.mark.parametrize("kind", RUNS)
def test_a_page_answers_on_its_first_screen(kind: str, pages: dict[str, Path], browser: Browser) -> None:
    """Answer, confidence and proof are within 1400 x 900, and the whole page is at most 4,000 px high."""
    browser.call("Emulation.setDeviceMetricsOverride", width=1400, height=900, deviceScaleFactor=1, mobile=False)
    browser.open(pages[kind], unfold=False)
    assert browser.ask("document.documentElement.scrollHeight") <= 4000
    ends = browser.ask(
        "['h1', '.sure, .card', '.proofs figure'].map((each) => document.querySelector(`.first ${each}`))"
        ".filter(Boolean).map((each) => (each.querySelector('svg') ?? each).getBoundingClientRect().bottom)"
    )
    assert ends
    assert max(ends) <= 900
    assert browser.ask("heard") == []


def test_a_legend_over_the_marks_is_seen(pages: dict[str, Path], browser: Browser) -> None:
    show(browser, pages["compare"], 1400)
    browser.ask("document.querySelector('g.role-legend').style.transform = 'translate(0, -90px)'")
    assert any("a legend lies over the marks" in fault for fault in browser.ask(FAULTS))


@pytest.mark.parametrize(
    ("broken", "told"),
    [
        ("document.querySelector('.soft').style.color = '#5b6472'", "too little contrast"),
        ("document.querySelector('.canvas').style.background = '#e8edf2'", "too little contrast"),
    ],
)
def test_what_is_faint_on_dark_alone_is_seen(broken: str, told: str, pages: dict[str, Path], browser: Browser) -> None:
    show(browser, pages["exchange"], 800)
    browser.ask(broken.replace("#e8edf2", "light-dark(#fff, #e8edf2)"))
    assert browser.ask(FAULTS) == []
    paint(browser, "dark")
    assert any(told in fault for fault in browser.ask(FAULTS))


@pytest.mark.parametrize("style", ["width: 90px; overflow-x: hidden", "width: 900px"])
def test_a_table_that_is_cut_on_a_narrow_page_is_seen(style: str, pages: dict[str, Path], browser: Browser) -> None:
    show(browser, pages["exchange"], 800)
    assert browser.ask(FAULTS) == []
    browser.ask(f"document.querySelector('.wide').style.cssText = '{style}'")
    assert any("a table is clipped" in fault for fault in browser.ask(FAULTS))


@pytest.mark.parametrize("kind", ["exchange", "pods", "rates", "three", "trace", "yellowstone", "empty"])
def test_what_is_folded_away_is_printed_and_nothing_is_cut(kind: str, pages: dict[str, Path], browser: Browser) -> None:
    show(browser, pages[kind], PAPER, "dark", unfold=False)
    assert kind in UNFOLDED or browser.ask(CUT)
    assert browser.call("Page.printToPDF")["data"].startswith("JVBERi0")  # "%PDF-" in base 64
    assert not any("folded" in fault for fault in browser.ask(CUT)), "printing itself opens what is folded"
    show(browser, pages[kind], PAPER, "dark", unfold=False)  # printing has drawn the figures anew, for another width
    browser.ask("dispatchEvent(new Event('beforeprint')) && undefined")
    paint(browser, "dark", "print")
    assert browser.ask(FAULTS) + browser.ask(CUT) == []
    assert browser.ask("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    browser.ask("document.querySelector('table').style.width = '900px'")
    assert browser.ask(CUT)[0].startswith("cut on paper")
