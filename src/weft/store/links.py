# SPDX-License-Identifier: BSD-3-Clause
"""Traffic over each link of a fabric during a launch: bytes, packets, drops, one row for each direction."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

from pydantic import ConfigDict, Field, StrictFloat, StrictInt, StrictStr, TypeAdapter, ValidationError
from pydantic.dataclasses import dataclass

from weft.errors import DataError
from weft.files.atomic import read_json, write_json

SCHEMA = "weft-links/1"
MOST_RATE = 1e18  # bytes per second, more than any link has; above all, not infinite
Count = Annotated[StrictInt, Field(ge=0, lt=2**63)]


@dataclass(frozen=True, config=ConfigDict(populate_by_name=True))
class LinkCount:
    """Counters of one direction of a link."""

    link: StrictStr
    source: Annotated[StrictStr, Field(alias="from")]
    target: Annotated[StrictStr, Field(alias="to")]
    rate: Annotated[StrictFloat, Field(ge=0, lt=MOST_RATE)]  # in this direction in bytes per second; 0 if unknown
    bytes: Count
    packets: Count
    drops: Count


ROWS = TypeAdapter(list[LinkCount])


def passed(before: Sequence[LinkCount], after: Sequence[LinkCount]) -> list[LinkCount]:
    """Traffic over the links between two readings; DataError if the fabric was restarted in between."""
    earlier = {(count.link, count.source): count for count in before}
    found: list[LinkCount] = []
    for now in after:
        then = earlier.get((now.link, now.source))
        if then is None or now.bytes < then.bytes or now.packets < then.packets or now.drops < then.drops:
            what = f"the counters of link {now.link} from {now.source} went backwards during the launch"
            raise DataError(what, "the links were reset, or the fabric was brought up again: measure the cell again")
        moved = {name: getattr(now, name) - getattr(then, name) for name in ("bytes", "packets", "drops")}
        found.append(replace(now, **moved))
    return found


def links_file(folder: Path, launch: str) -> Path:
    """File of the counters of a launch in a run folder."""
    return folder / "launches" / f"{launch}.links.json"


def write_links(
    path: Path, launch: str, method: str, counts: Sequence[LinkCount], cells: Mapping[str, Sequence[LinkCount]] = {},
    jobs: Mapping[str, Sequence[LinkCount]] = {},
) -> None:  # fmt: skip
    """Write the counters of a launch (schema ``weft-links/1``)."""
    record: dict[str, Any] = {"schema": SCHEMA, "launch": launch, "method": method}
    record["links"] = ROWS.dump_python(list(counts), by_alias=True)
    for part, found in (("cells", cells), ("jobs", jobs)):
        if found:
            record[part] = {name: ROWS.dump_python(list(own), by_alias=True) for name, own in found.items()}
    write_json(path, record)


def read_links(path: Path) -> list[LinkCount]:
    """Read the counters of a launch. Raises DataError: not there, or of another format."""
    return _counts(path, _record(path)["links"])


def job_key(cell: str, job: str) -> str:
    """Of the counters of one job of a cell: the name of its call, or of its traffic."""
    return f"{cell} {job}"


def read_cell_links(path: Path, part: str = "cells") -> dict[str, list[LinkCount]]:
    """Read the counters of each cell of a launch, or of its ``jobs``; DataError if they have another format."""
    cells = _record(path).get(part, {})
    if not isinstance(cells, dict):
        raise DataError(f"{path}: {part} is not a table", "measure the cell again")
    return {cell: _counts(path, rows) for cell, rows in cells.items()}  # pyright: ignore[reportUnknownVariableType]


def _record(path: Path) -> dict[str, Any]:
    record = read_json(path)
    if record.get("schema") != SCHEMA or "links" not in record:
        what = f"{path}: schema {record.get('schema')!r}, this Weft reads {SCHEMA!r}"
        raise DataError(what, "measure the cell again")
    return record


def _counts(path: Path, rows: Any) -> list[LinkCount]:
    try:
        return ROWS.validate_python(rows)
    except ValidationError as error:
        place, what = ".".join(map(str, error.errors()[0]["loc"])), error.errors()[0]["msg"]
        raise DataError(f"{path}: {place}: {what}", "measure the cell again") from error
