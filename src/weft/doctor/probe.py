# SPDX-License-Identifier: BSD-3-Clause
"""One thing that ``weft doctor`` looks at, and the tree in which it looks."""

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from weft.host import read

Verdict = Literal["ok", "warn", "missing"]


@dataclass(frozen=True)
class Probe:
    """One thing that ``weft doctor`` looks for.

    Attributes
    ----------
    name
        What it is.
    found
        What was found; empty if nothing was.
    verdict
        ``ok``, ``warn`` (present, but harmful to measurements) or ``missing``.
    needed_for
        What does not work without it, or what the warning means.
    remedy
        The command that installs or corrects it; empty if nothing need be done.
    needed
        Whether ``weft run`` on this host cannot do without it.
    serves
        The kind of fabric that cannot do without it; empty where none.
    lacks
        What is missing, as its package is called.
    developers
        Whether only those who work on Weft need it.
    """

    name: str
    found: str
    verdict: Verdict
    needed_for: str = ""
    remedy: str = ""
    needed: bool = False
    serves: str = ""
    lacks: str = ""
    developers: bool = False


@dataclass(frozen=True)
class Root:
    """The folder of ``proc`` and ``sys``; tests use trees of their own."""

    path: Path = Path("/")

    def text(self, name: str) -> str:
        """Stripped text of a file; empty if it cannot be read."""
        return read(self.path / name).strip()

    def there(self, name: str) -> bool:
        """Whether a file or folder exists."""
        return (self.path / name).exists()
