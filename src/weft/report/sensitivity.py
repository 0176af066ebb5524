# SPDX-License-Identifier: BSD-3-Clause
"""What a simulated verdict depends on, as a table."""

from collections.abc import Iterable

from weft.analyse.tables.sensitivity import SENSITIVITY, SensitivityRow
from weft.format import format_seconds
from weft.report.tabular import Table, Words
from weft.report.view import RunView
from weft.words.answers import number_text

COLUMNS = ("series", "number", "value (plausible)", Words("verdict"), "time at the last point")
UNITS = ("", "key", "from where", "and where it flips", "as the number moves")


def sensitivities(view: RunView) -> list[SensitivityRow]:
    """Rows of the run's table, those whose verdict flips first."""
    return SENSITIVITY.read(view.path)


def flip_text(row: SensitivityRow) -> str:
    """Where a verdict becomes another one: ``from 18 KiB on: still scales at N = 576``; empty if nowhere."""
    if row["flips_at"] is None:
        return ""
    where = "on" if row["flips_at"] >= row["value"] else "down"
    return f"from {number_text(row['flips_at'], row['unit'])} {where}: {row['becomes']}"


def sensitivity_table(rows: Iterable[SensitivityRow], title: str) -> Table | None:
    """Each assumed or fitted number with what it does to the verdict and to the last time; None without rows."""
    lines = tuple(
        (
            row["series"],
            row["key"],
            f"{number_text(row['value'], row['unit'])} ({_range(row)}), {row['standing']}",
            f"FLIPS {_given(row)}{flip_text(row)}" if row["flips"] else row["verdict"],
            f"{format_seconds(row['seconds'])} ({format_seconds(row['least_s'])} to {format_seconds(row['most_s'])}), "
            f"N = {row['at']}, {row['basis']}",
        )
        for row in rows
    )
    return Table(title, COLUMNS, lines) if lines else None


def _given(row: SensitivityRow) -> str:
    """Another number that has to have another value, too: ``with network.eager_overhead = 0 ns, ``; or nothing."""
    if row["given_value"] is None:
        return ""
    return f"with {row['given_key']} = {number_text(row['given_value'], row['given_unit'])}, "


def _range(row: SensitivityRow) -> str:
    return f"{number_text(row['low'], row['unit'])} to {number_text(row['high'], row['unit'])}"
