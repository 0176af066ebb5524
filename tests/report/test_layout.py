# SPDX-License-Identifier: BSD-3-Clause
"""Every kind of page in a browser, narrow and wide, light and dark: nothing is clipped, overlaps or leaves its axis."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from browser import CHROMIUM, Browser

from made.kept import copy_of, kept_runs
from made.run import make_run, tara_like
from weft.report.compare.load import load_compare
from weft.report.compare.page import write as write_compare
from weft.report.page import write
from weft.run.refresh import refresh

pytestmark = [
    pytest.mark.report,
    pytest.mark.skipif(CHROMIUM is None, reason="Chromium is not here: apt install chromium"),
]
KINDS = (*kept_runs(), "simulated", "several", "compare")

#: Errors of a page from its first line on.
LISTEN = """
window.heard = [];
addEventListener("error", (event) => heard.push(String(event.message)));
addEventListener("unhandledrejection", (event) => heard.push(String(event.reason)));
const tell = console.error;
console.error = (...words) => { heard.push(words.join(" ")); tell(...words); };
"""

#: Everything wrong with the page as it is drawn, in words.
FAULTS = """(() => {
  const found = [...heard.map((each) => `console: ${each}`)];
  for (const each of document.querySelectorAll("details")) each.open = true;
  const width = document.documentElement.clientWidth;
  if (document.documentElement.scrollWidth > width) found.push("the page is wider than the window");
  const words = (each) => each.textContent.trim().replace(/\\s+/g, " ").slice(0, 60);
  const blocks = "h1, h2, h3, p, li, summary, dt, dd, figcaption, th, td, button, a, svg";
  for (const each of document.querySelectorAll(blocks)) {
    const box = each.getBoundingClientRect();
    if (!box.width || each.closest(".vega-embed details")) continue;
    const scrolls = each.closest(".wide");
    if (!scrolls && (box.right > width + 1 || box.left < -1)) found.push(`clipped: ${each.tagName} ${words(each)}`);
    if (each.scrollWidth > each.clientWidth + 1 && getComputedStyle(each).overflowX === "hidden")
      found.push(`cut off: ${each.tagName} ${words(each)}`);
  }
  if (width >= 1280) {
    for (const each of document.querySelectorAll(".wide"))
      if (each.scrollWidth > each.clientWidth + 1) found.push(`a table is clipped: ${each.ariaLabel}`);
  }
  for (const svg of document.querySelectorAll(".canvas svg")) {
    const texts = [...svg.querySelectorAll("text")].filter((each) => each.textContent.trim());
    const boxes = texts.map((each) => each.getBoundingClientRect());
    for (let i = 0; i < boxes.length; i++) {
      for (let j = 0; j < i; j++) {
        const across = Math.min(boxes[i].right, boxes[j].right) - Math.max(boxes[i].left, boxes[j].left);
        const down = Math.min(boxes[i].bottom, boxes[j].bottom) - Math.max(boxes[i].top, boxes[j].top);
        if (across > 2 && down > 4) found.push(`labels overlap: "${words(texts[j])}" and "${words(texts[i])}"`);
      }
    }
    const frame = svg.querySelector("g.mark-group path.background");
    if (!frame) continue;
    const plot = frame.getBoundingClientRect();
    for (const mark of svg.querySelectorAll("g.mark-symbol.role-mark path")) {
      const box = mark.getBoundingClientRect();
      const [x, y] = [(box.left + box.right) / 2, (box.top + box.bottom) / 2];
      if (x < plot.left - 2 || x > plot.right + 2 || y < plot.top - 2 || y > plot.bottom + 2)
        found.push(`a mark is outside of the axes: ${svg.closest("figure")?.id}`);
    }
  }
  return found;
})()"""


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """A page of each kind."""
    folder = tmp_path_factory.mktemp("layout")
    runs = {name: copy_of(name, folder) for name in kept_runs()}
    runs |= {name: make_run(folder / name, tara_like(samples=10)) for name in ("simulated", "again")}
    for run in runs.values():
        refresh(run)
    alone = [name for name in KINDS if name in runs]
    made = {name: write([runs[name]], folder / f"{name}.html", files_too=False) for name in alone}
    both = [runs["simulated"], runs["again"]]
    made["several"] = write(both, folder / "several.html", files_too=False)
    made["compare"] = write_compare(load_compare(both), [], folder / "compare.html", files_too=False)
    return made


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    with Browser(tmp_path_factory.mktemp("profile")) as opened:
        opened.call("Page.addScriptToEvaluateOnNewDocument", source=LISTEN)
        opened.call("Page.enable")
        yield opened


def faults(browser: Browser, page: Path, width: int, scheme: str = "light") -> list[str]:
    """What is wrong with a page in a window so wide, in the scheme."""
    browser.call("Emulation.setDeviceMetricsOverride", width=width, height=1000, deviceScaleFactor=1, mobile=False)
    media: list[Any] = [{"name": "prefers-color-scheme", "value": scheme}]
    browser.call("Emulation.setEmulatedMedia", features=media)
    browser.open(page)
    return browser.ask(FAULTS)


@pytest.mark.parametrize("kind", KINDS)
def test_a_page_is_whole_at_any_width_and_in_either_scheme(kind: str, pages: dict[str, Path], browser: Browser) -> None:
    found = {
        f"{width} px, {scheme}: {fault}"
        for width, scheme in ((800, "light"), (1400, "dark"))
        for fault in faults(browser, pages[kind], width, scheme)
    }
    assert found == set()


def test_the_schemes_differ(pages: dict[str, Path], browser: Browser) -> None:
    colours: set[str] = set()
    for scheme in ("light", "dark"):
        faults(browser, pages["pairs"], 800, scheme)
        colours.add(browser.ask("getComputedStyle(document.body).backgroundColor"))
    assert len(colours) == 2


@pytest.mark.parametrize(
    ("broken", "told"),
    [
        ("console.error('it broke')", "console: it broke"),
        ("document.querySelector('h1').style.cssText = 'position:relative;left:2000px'", "clipped: H1"),
        ("document.querySelector('.wide').style.width = '90px'", "a table is clipped"),
        ("{const t = document.querySelector('.canvas svg text'); t.parentNode.append(t.cloneNode(true))}", "overlap"),
        (
            "document.querySelector('.mark-symbol.role-mark path').setAttribute('transform', 'translate(-300, 0)')",
            "outside of the axes",
        ),
    ],
)
def test_a_broken_page_is_seen_by_this_very_test(
    broken: str, told: str, pages: dict[str, Path], browser: Browser
) -> None:
    assert faults(browser, pages["exchange"], 1400) == []
    browser.ask(broken)
    assert any(told in fault for fault in browser.ask(FAULTS))


def test_a_table_is_copied_as_csv(pages: dict[str, Path], browser: Browser) -> None:
    faults(browser, pages["exchange"], 1400)
    browser.ask("navigator.clipboard.writeText = async (text) => { window.copied = text; }")
    browser.ask("document.querySelector('button.copy').click()")
    copied = browser.ask("window.copied")
    assert copied.splitlines()[0].startswith("Nodes N,")
    assert len(copied.splitlines()) > 3
