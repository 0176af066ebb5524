# SPDX-License-Identifier: BSD-3-Clause
"""A row of the card: what every medium prints of a claim."""

from typing import NamedTuple


class Row(NamedTuple):
    """A label, a value with its interval, and at most one short clause."""

    id: str  # of the claim
    label: str
    value: str
    note: str = ""
    next: str = ""  # a command to paste; may be empty

    @property
    def text(self) -> str:
        """Value and note on one line."""
        return f"{self.value}   {self.note}" if self.value and self.note else self.value or self.note
