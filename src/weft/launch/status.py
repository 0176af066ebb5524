# SPDX-License-Identifier: BSD-3-Clause
"""The last known state of the ranks of a launch, from the status file that the kernels write."""

from dataclasses import dataclass
from pathlib import Path

from weft.files.plain import Version, read_plain, version

SLOT_BYTES = 64


@dataclass(frozen=True)
class Slot:
    """The last known state of one rank."""

    rank: int
    cell: str
    op: str
    phase: str
    state: str

    def __str__(self) -> str:
        return f"rank {self.rank}: {' '.join(word for word in (self.op, self.phase, self.state) if word)}"


def read_slots(path: Path, before: Version | None = None) -> list[Slot]:
    """Read the status file of a launch.

    Parameters
    ----------
    path
        ``launches/<launch>.status``: 64 bytes a rank, ``<cell> <op> <phase> <state>``.
    before
        The file's version before the ranks were started: one that is still the same is from an earlier start and is
        ignored.

    Returns
    -------
    list
        A slot for each rank that wrote one; empty if the kernel did not get that far.
    """
    try:
        if version(path) == before:
            return []
        raw = read_plain(path)
    except OSError:
        return []
    slots: list[Slot] = []
    for rank in range((len(raw) + SLOT_BYTES - 1) // SLOT_BYTES):
        text = raw[rank * SLOT_BYTES : (rank + 1) * SLOT_BYTES].partition(b"\0")[0].decode("ascii", "replace")
        words = [*text.split(), "", "", "", ""]
        if words[0]:
            # a state may follow a cell that has no op yet ("c003 - - starting")
            cell, op, phase, state = words[:4]
            slots.append(Slot(rank, cell, op, phase, state))
    return slots
