# SPDX-License-Identifier: BSD-3-Clause
"""Refuses a build with a dead link inside it, or with a page that asks a network for a script, a style or a picture."""

from html.parser import HTMLParser
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import unquote, urlsplit

if TYPE_CHECKING:
    from sphinx.application import Sphinx

FETCHED = {"script": "src", "link": "href", "img": "src", "source": "src", "iframe": "src"}
GENERATED = ("genindex.html", "search.html", "_sources", "_static")


class Page(HTMLParser):
    """Targets and anchors of a page."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.anchors: set[str] = {"", "top"}
        self.links: list[str] = []
        self.fetched: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note what the element points to, and what points to it."""
        given = {key: value or "" for key, value in attrs}
        self.anchors.update(given[key] for key in ("id", "name") if key in given)
        if tag == "a" and "href" in given:
            self.links.append(given["href"])
        if tag in FETCHED and FETCHED[tag] in given:
            self.fetched.append(given[FETCHED[tag]])


def faults(folder: Path) -> list[str]:
    """Dead links and fetches of all pages of a build."""
    pages = {path: Page(path.read_text(encoding="utf-8")) for path in sorted(folder.glob("*.html"))}
    found: list[str] = []
    for path, page in pages.items():
        for link in (*page.links, *page.fetched):
            parts = urlsplit(link)
            if parts.scheme or parts.netloc or parts.path.startswith(GENERATED):
                continue
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            if not target.exists():
                found.append(f"{path.name}: {link} does not exist")
            elif target in pages and unquote(parts.fragment) not in pages[target].anchors:
                found.append(f"{path.name}: {link} has no such anchor")
        found += [f"{path.name} fetches {each}" for each in page.fetched if urlsplit(each).netloc]
    return found


def check(app: "Sphinx", problem: Exception | None) -> None:
    """Fail a build of HTML that has faults."""
    from sphinx.errors import ExtensionError

    if problem is None and app.builder.name == "html" and (said := faults(Path(app.outdir))):
        raise ExtensionError("dead links, or pages that need a network:\n" + "\n".join(said))


def setup(app: "Sphinx") -> dict[str, bool]:
    """Check after each build."""
    app.connect("build-finished", check)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
