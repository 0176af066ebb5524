# SPDX-License-Identifier: BSD-3-Clause
"""What stands before the runs on a page of several: a table, and sentences on it."""

from dataclasses import dataclass

from weft.report.tabular import Table


@dataclass(frozen=True)
class Front:
    """The answer that several runs give together.

    Attributes
    ----------
    table
        One row for each of them, perhaps more.
    sentences
        What it says, the answer first.
    """

    table: Table
    sentences: tuple[str, ...]
