# SPDX-License-Identifier: BSD-3-Clause
"""The flat plan as a simulator is given it: a time that is the same every time is not taken a hundred times."""

from dataclasses import dataclass

FIXED = {"io": "posix", "warmup_most": "0", "limit_ns": "0", "start": "barrier"}


@dataclass(frozen=True)
class FlatPlan:
    """A flat plan's lines, head and cells."""

    head: dict[str, str]
    cells: tuple[dict[str, str], ...]

    @property
    def folds(self) -> bool:
        """Whether its large buffers need no content: true of the contention set alone, whose traffic is known."""
        return all(
            cell.get("kernel") != "exchange" or cell.get("data", "contention") == "contention" for cell in self.cells
        )


def read_flat(text: str) -> FlatPlan:
    """Parse a flat plan (see ``weft.flat``)."""
    head: dict[str, str] = {}
    cells: list[dict[str, str]] = []
    into = head
    for line in text.splitlines():
        key, _, value = line.strip().partition(" ")
        if key == "cell":
            into = {}
            cells.append(into)
        if key == "end":
            into = head
        elif key and not key.startswith("#"):
            into[key] = value
    return FlatPlan(head, tuple(cells))


def simulated_plan(text: str, samples: int) -> str:
    """The same plan with the simulator's rules for taking samples, line by line."""
    rules = FIXED | {"min_samples": str(samples), "max_samples": str(samples)}
    lines: list[str] = []
    for line in text.splitlines():
        key = line.split(" ", 1)[0]
        lines.append(f"{key} {rules[key]}" if key in rules else line)
    return "\n".join(lines) + "\n"
