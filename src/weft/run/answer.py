# SPDX-License-Identifier: BSD-3-Clause
"""What a run says while it measures and at its end. Its imports take a second, which nobody needs before an answer."""

from collections.abc import Sequence
from pathlib import Path

from weft.format import plural
from weft.report import page, tables
from weft.report.card import card_of, card_text
from weft.report.view import load_view
from weft.run.progress import Progress
from weft.run.refresh import reading
from weft.store.folder import RunFolder


def show_so_far(folder: RunFolder, rounds: int, progress: Progress) -> None:
    """Show the answer of a run whose tables are made, and write its page if it has none."""
    with reading(folder.path):
        view = load_view(folder.path)
        card = card_of(view)
        answer = next((f"{row.label}: {row.text}" for row in card.rows), "no answer yet")
        progress.answer(f"{plural(rounds, 'launch')} of each cell: {answer}", card_text(view))
        if not folder.report.is_file():
            page.write([folder.path], folder.report)


def write_page(folder: RunFolder) -> None:
    """Write the page of a run whose tables are made."""
    with reading(folder.path):
        page.write([folder.path], folder.report)


def print_answer(folder: RunFolder) -> None:
    """Print card and first table of a run whose tables are made."""
    with reading(folder.path):
        tables.show(folder.path)


def write_joint_page(runs: Sequence[Path], path: Path) -> Path:
    """Write one page about several runs."""
    return page.write(runs, path)
