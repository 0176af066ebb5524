# SPDX-License-Identifier: BSD-3-Clause
"""The machine that simulated tests run on, and one simulated launch of a cell."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from weft.launch.launcher import Outcome
from weft.store.cells import CellData, read_cell

TARA = """
name = "tara"
kind = "simulated"
[node]
names = "n[37-72]"
cores = 8
memory = "24 GiB"
copy_rate = "5.36 GB/s"
[network]
topology = "fat-tree"
latency = "1.2 us"
adapter_rate = "2.62 GB/s"
eager_limit = "16 KiB"
rendezvous_stall = "160 us"
[network.tree]
nodes_per_leaf = 18
uplinks = 18
link_rate = "3.5 GB/s"
[simulation]
collectives = "mvapich2"
connection_cost = "2 ms"
"""


@dataclass(frozen=True)
class Simulated:
    """A simulated launch of one cell."""

    outcome: Outcome
    folder: Path

    @property
    def log(self) -> str:
        return self.outcome.log.read_text()

    @property
    def cell(self) -> CellData:
        return read_cell(self.folder, "c000", 1, checksums=True)

    def seconds(self, op: str, phase: str) -> float:
        """Time of the last sample of an operation (METHOD 2)."""
        segment = next(s for s in self.cell.record.segments if (s.op, s.phase) == (op, phase))
        samples = self.cell.samples
        assert samples is not None
        rows = samples[:, segment.first + segment.count - 1, :]
        return float((rows[:, 0] + rows[:, 1]).max() - rows[:, 0].min()) / 1e9


Simulate = Callable[..., Simulated]
