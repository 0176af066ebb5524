# SPDX-License-Identifier: BSD-3-Clause
"""What crossed each link of a fabric during a launch: bytes, packets, drops, one row for each direction."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from weft.errors import DataError
from weft.files.atomic import read_json, write_json

SCHEMA = "weft-links/1"


@dataclass(frozen=True)
class LinkCount:
    """Counters of one direction of a link.

    Parameters
    ----------
    link
        Name of the link; both directions carry it.
    source, target
        The end that sends and the end that receives.
    rate
        Bytes per second that the link can carry this way; 0 when unknown.
    bytes, packets
        Sent since the link came up, or between two readings.
    drops
        Packets thrown away before they were sent, because the queue was full.
    """

    link: str
    source: str
    target: str
    rate: float
    bytes: int
    packets: int
    drops: int

    def row(self) -> dict[str, Any]:
        """As it stands in ``launches/<launch>.links.json``."""
        return {
            "link": self.link,
            "from": self.source,
            "to": self.target,
            "rate": self.rate,
            "bytes": self.bytes,
            "packets": self.packets,
            "drops": self.drops,
        }


def passed(before: Sequence[LinkCount], after: Sequence[LinkCount]) -> list[LinkCount]:
    """What crossed the links between two readings of the same fabric.

    Raises
    ------
    DataError
        A counter went backwards or a link is missing: the fabric was brought up anew in between.
    """
    earlier = {(count.link, count.source): count for count in before}
    found: list[LinkCount] = []
    for now in after:
        then = earlier.get((now.link, now.source))
        if then is None or now.bytes < then.bytes or now.packets < then.packets or now.drops < then.drops:
            raise DataError(
                f"the counters of link {now.link} from {now.source} went backwards during the launch",
                "the links were reset, or the fabric was brought up again: measure the cell again",
            )
        found.append(
            LinkCount(
                *(now.link, now.source, now.target, now.rate),
                *(now.bytes - then.bytes, now.packets - then.packets, now.drops - then.drops),
            )
        )
    return found


def links_file(folder: Path, launch: str) -> Path:
    """Where the counters of a launch are kept in a run folder."""
    return folder / "launches" / f"{launch}.links.json"


def write_links(
    path: Path, launch: str, method: str, counts: Sequence[LinkCount], cells: Mapping[str, Sequence[LinkCount]] = {}
) -> None:
    """Write the counters of a launch (schema ``weft-links/1``).

    Parameters
    ----------
    path
        See :func:`links_file`.
    launch
        Name of the launch.
    method
        Where they were read: ``tbf`` (virtual links) or ``perfquery`` (InfiniBand).
    counts
        What :func:`passed` gave.
    cells
        The same for each cell of a launch of several, where the borders between them were seen.
    """
    record: dict[str, Any] = {"schema": SCHEMA, "launch": launch, "method": method}
    record["links"] = [count.row() for count in counts]
    if cells:
        record["cells"] = {cell: [count.row() for count in own] for cell, own in cells.items()}
    write_json(path, record)


def read_links(path: Path) -> list[LinkCount]:
    """Read the counters of a launch.

    Raises
    ------
    DataError
        Not there, or of another format.
    """
    return _counts(path, _record(path)["links"])


def read_cell_links(path: Path) -> dict[str, list[LinkCount]]:
    """Read the counters of each cell of a launch of several; nothing where they were not counted separately.

    Raises
    ------
    DataError
        Not there, or of another format.
    """
    cells = _record(path).get("cells", {})
    if not isinstance(cells, dict):
        raise DataError(f"{path}: cells is no table", "measure the cell again")
    return {cell: _counts(path, rows) for cell, rows in cells.items()}  # pyright: ignore[reportUnknownVariableType]


def _record(path: Path) -> dict[str, Any]:
    record = read_json(path)
    if record.get("schema") != SCHEMA or "links" not in record:
        raise DataError(
            f"{path}: schema {record.get('schema')!r}, this Weft reads {SCHEMA!r}", "measure the cell again"
        )
    return record


def _counts(path: Path, rows: Any) -> list[LinkCount]:
    try:
        return [
            LinkCount(row["link"], row["from"], row["to"], row["rate"], row["bytes"], row["packets"], row["drops"])
            for row in rows
        ]
    except (KeyError, TypeError) as error:
        raise DataError(f"{path}: a row lacks {error}", "measure the cell again") from error
