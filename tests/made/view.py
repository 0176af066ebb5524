# SPDX-License-Identifier: BSD-3-Clause
"""Views of made runs: their tables are made first, as the verbs do."""

from pathlib import Path
from typing import Any

from weft.report import view
from weft.run.refresh import refresh


def load_view(folder: Any, engine: str | None = None) -> view.RunView:
    """Bring a run's tables up to date and load it."""
    return view.load_view(refresh(Path(getattr(folder, "path", folder)), engine))
