# SPDX-License-Identifier: BSD-3-Clause
"""A page open in Chromium, over its debugging pipe: its own clock runs, and a pointer can be moved over it."""

import json
import os
import shutil
import subprocess
from pathlib import Path
from types import TracebackType
from typing import Any, Self

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
OPTIONS = [
    *("--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-sync"),
    *("--disable-background-networking", "--disable-component-update", "--disable-dev-shm-usage"),
    *("--window-size=1280,1000", "--remote-debugging-pipe"),
]


class Browser:
    """Chromium with one page; to be used in a ``with``, which ends it."""

    def __init__(self, profile: Path) -> None:
        assert CHROMIUM
        (its_input, self._out), (self._in, its_output) = os.pipe(), os.pipe()

        def wire() -> None:  # it reads commands from 3 and answers on 4, wherever ours are
            ends = (os.dup(its_input), os.dup(its_output))
            for number, end in zip((3, 4), ends, strict=True):
                os.dup2(end, number)

        # the ends are the same numbers in the child, so they must be neither 3 nor 4 while they are put there
        command = [CHROMIUM, *OPTIONS, f"--user-data-dir={profile}", "about:blank"]
        self._process = subprocess.Popen(
            command, preexec_fn=wire, close_fds=False, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        os.close(its_input)
        os.close(its_output)
        self._number, self._session, self._read = 0, None, b""
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self._session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        self.call("Performance.enable", timeDomain="timeTicks")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        close = {"id": self._number + 1, "method": "Browser.close"}
        try:  # killed, it would leave a folder in /tmp
            os.write(self._out, json.dumps(close).encode() + b"\0")
            self._process.wait(timeout=10)
        except (OSError, subprocess.TimeoutExpired):
            self._process.kill()
            self._process.wait()
        os.close(self._out)
        os.close(self._in)

    def call(self, method: str, **given: Any) -> dict[str, Any]:
        """Send a command and wait for its answer; events that come in between are passed over."""
        self._number += 1
        message: dict[str, Any] = {"id": self._number, "method": method, "params": given}
        if self._session:
            message["sessionId"] = self._session
        os.write(self._out, json.dumps(message).encode() + b"\0")
        while True:
            while b"\0" not in self._read:
                more = os.read(self._in, 1 << 16)
                assert more, "Chromium has ended"
                self._read += more
            line, self._read = self._read.split(b"\0", 1)
            answer = json.loads(line)
            if answer.get("id") == self._number:
                assert "error" not in answer, answer
                return answer["result"]

    def ask(self, expression: str) -> Any:
        """The value of an expression of the page, or of what it promises."""
        answer = self.call("Runtime.evaluate", expression=expression, awaitPromise=True, returnByValue=True)
        assert "exceptionDetails" not in answer, answer
        return answer["result"].get("value")

    def open(self, page: Path, *, unfold: bool = True) -> tuple[float, float]:
        """Open a page, with all that it folds away, and wait until every figure that shows is drawn: seconds by the
        page's clock, and of its processor.
        """
        before = self._processor_s()
        self.call("Page.navigate", url=page.as_uri())
        took_ms = self.ask(DRAWN)
        if unfold:
            self.ask("document.querySelectorAll('details').forEach((each) => { each.open = true; })")
            took_ms = self.ask(DRAWN)
        return took_ms / 1000, self._processor_s() - before

    def _processor_s(self) -> float:
        metrics = self.call("Performance.getMetrics")["metrics"]
        return next(each["value"] for each in metrics if each["name"] == "ProcessTime")

    def point(self, x: float, y: float) -> None:
        """Move the pointer to a place in the window."""
        self.call("Input.dispatchMouseEvent", type="mouseMoved", x=x, y=y)

    def click(self, element: str, *, shift: bool = False, times: int = 1) -> None:
        """Press and release the button over the middle of what an expression of the page gives."""
        self.ask(f"({element}).scrollIntoView({{ block: 'center', behavior: 'instant' }})")
        middle = "((box) => [box.x + box.width / 2, box.y + box.height / 2])"
        x, y = self.ask(f"{middle}(({element}).getBoundingClientRect())")
        self.point(x, y)
        held = {"x": x, "y": y, "button": "left", "modifiers": 8 * shift}
        for count in range(1, times + 1):
            for kind in ("mousePressed", "mouseReleased"):
                self.call("Input.dispatchMouseEvent", type=kind, clickCount=count, **held)

    def pasted(self) -> str:
        """What Ctrl+V writes into an empty field of the page."""
        self.ask("window.field = document.body.appendChild(document.createElement('textarea')), field.focus()")
        self.call("Input.dispatchKeyEvent", type="keyDown", key="v", code="KeyV", modifiers=2, commands=["paste"])
        text = self.ask("field.value")
        self.ask("field.remove()")
        return text


#: Waits for the page's load event and its figures, then for a frame that shows them.
DRAWN = """new Promise((done) => {
  const look = () => {
    const ready = document.readyState === "complete" && performance.getEntriesByType("navigation")[0].loadEventEnd > 0;
    const charts = [...document.querySelectorAll(".chart")].filter((each) => !each.closest("details:not([open])"));
    if (ready && charts.every((each) => each.dataset.drawn)) {
      requestAnimationFrame(() => requestAnimationFrame(() => done(performance.now())));
    } else { setTimeout(look, 5); }
  };
  look();
})"""
