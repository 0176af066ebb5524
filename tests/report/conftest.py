# SPDX-License-Identifier: BSD-3-Clause
"""A browser that hears what a page complains of, for tests that look at pages or use them."""

from collections.abc import Iterator

import pytest
from browser import Browser
from faults import LISTEN


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    """Chromium, which keeps the errors of the console."""
    with Browser(tmp_path_factory.mktemp("profile")) as opened:
        opened.call("Page.addScriptToEvaluateOnNewDocument", source=LISTEN)
        opened.call("Page.enable")
        yield opened
