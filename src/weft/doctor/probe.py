# SPDX-License-Identifier: BSD-3-Clause
"""One thing that ``weft doctor`` looks at, and the tree in which it looks."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from weft.errors import LaunchError
from weft.fabric.kinds import KINDS
from weft.host import read
from weft.launch.batch.scheduler import refuse_missing
from weft.launch.batch.schedulers import SCHEDULERS

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


def ready(probes: Sequence[Probe]) -> str:
    """One line: ``ready: local; missing for virtual: iproute2; not tried: slurm (weft doctor --on FABRIC ..)``."""
    missing = [probe for probe in probes if probe.verdict == "missing"]
    here, untried, parts = list[str](), list[str](), list[str]()
    for kind in KINDS:
        if kind in SCHEDULERS and not is_here(kind):
            continue
        lacking = [probe.lacks or probe.name for probe in missing if probe.needed]
        lacking += [probe.lacks or probe.name for probe in missing if probe.serves == kind]
        if lacking:
            parts.append(f"missing for {kind}: {', '.join(dict.fromkeys(lacking))}")
        else:
            (untried if kind in SCHEDULERS else here).append(kind)
    if untried:
        parts.append(f"not tried: {', '.join(untried)} (weft doctor --on FABRIC tries it)")
    return "; ".join([f"ready: {', '.join(here)}" if here else "not ready for anything", *parts])


def is_here(kind: str) -> bool:
    """Whether the commands of a scheduler are on PATH."""
    try:
        refuse_missing(SCHEDULERS[kind]())
    except LaunchError:
        return False
    return True
