# SPDX-License-Identifier: BSD-3-Clause
"""What crossed each link of a fabric during a launch: bytes, packets, drops, one row for each direction."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from weft.errors import DataError
from weft.folder import read_json, write_json

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
                "somebody reset the links or brought the fabric up anew: measure the cell again",
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


def write_links(path: Path, launch: str, method: str, counts: Sequence[LinkCount]) -> None:
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
    """
    rows = [count.row() for count in counts]
    write_json(path, {"schema": SCHEMA, "launch": launch, "method": method, "links": rows})


def read_links(path: Path) -> list[LinkCount]:
    """Read the counters of a launch.

    Raises
    ------
    DataError
        Not there, or of another format.
    """
    record = read_json(path)
    if record.get("schema") != SCHEMA:
        raise DataError(
            f"{path}: schema {record.get('schema')!r}, this Weft reads {SCHEMA!r}", "measure the cell again"
        )
    try:
        return [
            LinkCount(row["link"], row["from"], row["to"], row["rate"], row["bytes"], row["packets"], row["drops"])
            for row in record["links"]
        ]
    except (KeyError, TypeError) as error:
        raise DataError(f"{path}: a row lacks {error}", "measure the cell again") from error
