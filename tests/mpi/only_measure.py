# SPDX-License-Identifier: BSD-3-Clause
"""``weft`` as it is, but for tables and pages: they have tests of their own, and would take most of the time here."""

import sys
from typing import Any

import weft.report.page
import weft.report.tables
import weft.run.one
from weft.cli.app import main


def nothing(*arguments: Any, **named: Any) -> None:
    """Make no table and no page."""


weft.run.one.make_tables = nothing
weft.report.page.write = nothing  # pyright: ignore[reportAttributeAccessIssue]
weft.report.tables.show = nothing

if __name__ == "__main__":
    sys.exit(main())
