# SPDX-License-Identifier: BSD-3-Clause
"""docs/figures.md explains each figure that a page can have, under the name of its file, and no other."""

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
MADE = re.compile(r"\b(?:Figure|Sheeted)\(\s*f?\"([a-z-]+)")
TOLD = re.compile(r"`([a-z][a-z-]*?)(?:-?(?:[A-Z]+|\.\.\.))?`[,)]")


def test_every_figure_is_explained_and_no_other() -> None:
    made = {
        name.rstrip("-") for path in (ROOT / "src/weft/report").rglob("*.py") for name in MADE.findall(path.read_text())
    }
    heads = [
        line for line in (ROOT / "docs/figures.md").read_text().splitlines() if re.match(r"[A-Z].*\(`.*`\)$", line)
    ]
    told = {name.rstrip("-") for line in heads for name in TOLD.findall(line)}
    assert len(made) > 10
    assert made - told == set()
    assert told - made == {"collectives", "ratio"}  # a constant, and a name that is put together
