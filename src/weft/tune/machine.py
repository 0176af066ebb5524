# SPDX-License-Identifier: BSD-3-Clause
"""The cost model's numbers in a file: what ``weft tune --probe`` found, for ``weft tune --machine``."""

from pathlib import Path
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

from weft.fabric.model import Fabric
from weft.files.atomic import file_errors, write_atomic
from weft.files.checksum import with_checksum
from weft.files.json_file import Checksum, read_json_file
from weft.format import format_rate, format_seconds
from weft.report.tabular import Table
from weft.tune.check import Probed
from weft.tune.model import Machine

SCHEMA = "weft-machine/1"
Time = Annotated[float, Field(ge=0, allow_inf_nan=False)]
Rate = Annotated[float, Field(gt=0, allow_inf_nan=False)]


class MachineFile(BaseModel):
    """The file: LogGP's numbers of a fabric, in seconds and bytes a second."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    schema_name: Literal["weft-machine/1"] = Field(alias="schema")
    fabric: str
    run: str
    gap_s: Time
    gap_is_limit: bool  # whether the ranks and not the adapter limited the messages, so that the gap is smaller
    overhead_s: Time
    one_way_s: Time  # of a message without bytes: L and the overhead of both ends
    rate_bytes_per_s: Rate
    copy_rate_bytes_per_s: Rate
    record_crc32: Checksum = None

    @classmethod
    def of(cls, found: Probed, fabric: str, run: str) -> "MachineFile":
        """The file of what was found on a fabric in a run."""
        return cls(
            schema=SCHEMA,  # pyright: ignore[reportCallIssue]
            fabric=fabric,
            run=run,
            gap_s=found.gap_s,
            gap_is_limit=found.gap_is_limit,
            overhead_s=found.overhead_s,
            one_way_s=found.one_way_s,
            rate_bytes_per_s=found.rate,
            copy_rate_bytes_per_s=found.copy_rate,
        )

    def write(self, path: Path) -> None:
        """Write it as JSON. Raises DataError: The file cannot be written."""
        with file_errors(path):
            write_atomic(path, with_checksum(self.model_dump_json(by_alias=True, indent=1)).encode())

    def machine(self, fabric: Fabric) -> Machine:
        """The model's numbers; a step of a barrier within a node is that of the fabric file."""
        step = fabric.node.latency or 0.0
        return Machine(self.gap_s, self.one_way_s, self.rate_bytes_per_s, self.copy_rate_bytes_per_s, step)


def read_machine(path: Path) -> MachineFile:
    """Read such a file. Raises DataError: It cannot be read, or is none; names the key."""
    return read_json_file(
        path, MachineFile, "has no numbers of a machine", "measure it: weft tune --probe --on FABRIC -o FILE"
    )


def probed_table(title: str, found: Probed, fabric: Fabric) -> Table:
    """One row for each number: measured, and what the fabric file says, with their ratio."""
    network, node = fabric.network, fabric.node
    stated = [network.message_gap, network.overhead, network.latency, network.adapter_rate] if network else [None] * 4
    one_way = (stated[2] or 0.0) + (stated[1] or 0.0) or None
    rows = (
        _row("message gap g", found.gap_s, stated[0], limit=found.gap_is_limit),
        _row(
            "a rank's own gap: the larger of o and g", found.overhead_s, max(stated[1] or 0.0, stated[0] or 0.0) or None
        ),
        _row("one way, L + o", found.one_way_s, one_way),
        _row("adapter", found.rate, stated[3], rate=True),
        _row("copies of a node", found.copy_rate, node.copy_rate, rate=True),
    )
    return Table(title, ("number", "measured", "fabric file", "ratio"), rows)


def _row(
    name: str, value: float, stated: float | None, *, rate: bool = False, limit: bool = False
) -> tuple[str, str, str, str]:
    write = format_rate if rate else format_seconds
    measured = f"at most {write(value)}" if limit else write(value)
    return name, measured, "–" if stated is None else write(stated), f"{value / stated:.2f}" if stated else "–"
