# SPDX-License-Identifier: BSD-3-Clause
"""Views of made runs: their tables are made first, as the verbs do."""

from dataclasses import replace
from pathlib import Path
from typing import Any

from weft.report import view
from weft.run.refresh import refresh


def load_view(folder: Any, engine: str | None = None) -> view.RunView:
    """Bring a run's tables up to date and load it."""
    return view.load_view(refresh(Path(getattr(folder, "path", folder)), engine))


def with_parameters(seen: view.RunView, **values: Any) -> view.RunView:
    """The view of a run as if its measured cells had these values, too."""
    measured = {cell.id for cell in seen.plan.measured}
    cells = tuple(
        cell.model_copy(update={"parameters": cell.parameters | values}) if cell.id in measured else cell
        for cell in seen.plan.cells
    )
    return replace(seen, plan=seen.plan.model_copy(update={"cells": cells}))
