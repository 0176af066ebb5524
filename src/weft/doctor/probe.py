# SPDX-License-Identifier: BSD-3-Clause
"""One thing that ``weft doctor`` looks at, and the tree in which it looks."""

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from weft.host import read

Verdict = Literal["ok", "warn", "missing"]


@dataclass(frozen=True)
class Probe:
    """One thing that ``weft doctor`` looks for."""

    name: str  # what it is
    found: str  # what was found; empty if nothing was
    verdict: Verdict  # ``ok``, ``warn`` (present, but harmful to measurements) or ``missing``
    needed_for: str = ""  # what does not work without it, or what the warning means
    remedy: str = ""  # the command that installs or corrects it; empty if nothing need be done
    needed: bool = False  # whether ``weft run`` on this host cannot do without it
    serves: str = ""  # the kind of fabric that cannot do without it; empty where none
    lacks: str = ""  # what is missing, as its package is called
    developers: bool = False  # whether only those who work on Weft need it


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
