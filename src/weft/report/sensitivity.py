# SPDX-License-Identifier: BSD-3-Clause
"""What a simulated verdict hangs on, in words and as a table."""

from collections.abc import Iterable

from weft.analyse.tables.sensitivity import SENSITIVITY, SensitivityRow
from weft.format import capital, exact_bytes, format_rate, format_seconds
from weft.report.tabular import Table
from weft.report.view import RunView

COLUMNS = ("series", "number", "value (plausible)", "verdict", "time at the last point")
UNITS = ("", "key", "from where", "and where it flips", "as the number moves")


def sensitivities(view: RunView) -> list[SensitivityRow]:
    """Rows of the run's table, those whose verdict flips first."""
    return SENSITIVITY.read(view.path)


def number_text(value: float, unit: str) -> str:
    """A number of a fabric file: ``16 KiB``, ``2.66 GB/s``, ``165 us``."""
    if unit == "B":
        return exact_bytes(round(value))
    return format_rate(value) if unit == "B/s" else format_seconds(value)


def flip_text(row: SensitivityRow) -> str:
    """Where a verdict becomes another one: ``from 18 KiB on: still scales at N = 576``; empty if nowhere."""
    if row["flips_at"] is None:
        return ""
    where = "on" if row["flips_at"] >= row["value"] else "down"
    return f"from {number_text(row['flips_at'], row['unit'])} {where}: {row['becomes']}"


def flip_sentences(rows: Iterable[SensitivityRow]) -> list[str]:
    """A sentence for each verdict that a plausible value of a number turns into another."""
    return [
        f'Not certain: "{row["verdict"]}" ({row["series"]}) depends on {row["key"]}, which is {row["standing"]} to be '
        f"{number_text(row['value'], row['unit'])}; {_range(row)} is plausible. {_flip_sentence(row)}"
        for row in rows
        if row["flips"]
    ]


def _flip_sentence(row: SensitivityRow) -> str:
    """``From 18 KiB on, with node.copy_rate at 3.57 GB/s, the verdict is "still scales at N = 576".``"""
    where, _, becomes = flip_text(row).partition(": ")
    given = ""
    if row["given_value"] is not None:
        given = f", with {row['given_key']} at {number_text(row['given_value'], row['given_unit'])}"
    return f'{capital(where)}{given}, the verdict is "{becomes}".'


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
    return Table(title, COLUMNS, lines, frozenset({3})) if lines else None


def _given(row: SensitivityRow) -> str:
    """Another number that has to have another value, too: ``with network.eager_overhead = 0 ns, ``; or nothing."""
    if row["given_value"] is None:
        return ""
    return f"with {row['given_key']} = {number_text(row['given_value'], row['given_unit'])}, "


def _range(row: SensitivityRow) -> str:
    return f"{number_text(row['low'], row['unit'])} to {number_text(row['high'], row['unit'])}"
