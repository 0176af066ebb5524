# SPDX-License-Identifier: BSD-3-Clause
"""The tables of a run for a paper: plain LaTeX, no packages."""

from collections.abc import Iterable

from weft.report.tabular import Table
from weft.report.view import RunView
from weft.text import latex, one_line


def latex_table(table: Table) -> str:
    """One table as a float with its title as caption."""
    columns = "".join("l" if index in table.words else "r" for index in range(len(table.columns)))

    def line(cells: tuple[str, ...]) -> str:
        return " & ".join(latex(cell.strip()) for cell in cells) + r" \\"

    return "\n".join(
        [
            r"\begin{table}",
            rf"\caption{{{latex(table.title)}.}}",
            r"\centering",
            rf"\begin{{tabular}}{{{columns}}}",
            r"\hline",
            line(table.columns),
            line(table.rows[0]),
            r"\hline",
            *(line(row) for row in table.rows[1:]),
            r"\hline",
            r"\end{tabular}",
            r"\end{table}",
        ]
    )


def as_latex(view: RunView, tables: Iterable[Table], meaning: str) -> str:
    """Tables of a run, with the verdict and what the numbers mean as comments."""
    remarks = [f"% {one_line(text)}" for text in (view.titled(view.name), view.headline, meaning)]
    return "\n".join(remarks) + "\n\n" + "\n\n".join(latex_table(table) for table in tables) + "\n"
