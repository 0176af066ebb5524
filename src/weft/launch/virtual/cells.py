# SPDX-License-Identifier: BSD-3-Clause
"""The links' counters at the borders of a launch's cells, for kernels that measure many cells in one launch."""

import threading
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import Self

from weft.errors import WeftError
from weft.files.version import version
from weft.kernel.registry import kernel_named
from weft.launch.launcher import LaunchRequest
from weft.launch.status import read_slots
from weft.store.links import LinkCount, passed

EVERY_S = 0.1
"""Interval of reading the ranks' status: a file of 64 bytes per rank, so a read costs some microseconds."""


class CellMarks:
    """Reads the counters whenever the ranks start another cell, while the ``with`` block runs.

    A reading starts a few small processes, while the ranks allocate and fill the next cell's buffers and compare their
    clocks. Bytes in the first tenth of a second of a cell may be counted for the previous one.
    """

    def __init__(self, request: LaunchRequest, status: Path, read: Callable[[], list[LinkCount]]) -> None:
        self._cells = [cell.id for cell in request.cells]
        self._borders = sum(not kernel_named(cell.kernel).is_floor for cell in request.cells) > 1
        self._before = version(status)
        self._status, self._read = status, read
        self._marks: list[tuple[str, list[LinkCount]]] = []
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)

    def __enter__(self) -> Self:
        if self._borders:
            self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stop.set()
        if self._thread.is_alive():
            self._thread.join()

    def _watch(self) -> None:
        while not self._stop.wait(EVERY_S):
            slots = read_slots(self._status, self._before)
            cell = slots[0].cell if slots else ""
            if cell in self._cells and (not self._marks or self._marks[-1][0] != cell):
                try:
                    self._marks.append((cell, self._read()))
                except WeftError:  # the cluster is going down: whoever waits for the launch will say so
                    return

    def loads(self, end: list[LinkCount]) -> dict[str, list[LinkCount]]:
        """What crossed the links during each cell that was seen; nothing for a launch of one cell."""
        if len(self._marks) < 2:
            return {}
        readings = [*(counts for _, counts in self._marks), end]
        return {cell: passed(readings[k], readings[k + 1]) for k, (cell, _) in enumerate(self._marks)}
