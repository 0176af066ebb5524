# SPDX-License-Identifier: BSD-3-Clause
"""What stands where in a cell of the kernel ``pairs``.

The segments of such a cell (native/measure/pairs.cpp writes them), each with one column of rows for every rank:

``partner.r12``
    One row: the rank met in round 12, in the column of durations; the own one for a bye. So a record is understood
    without the schedule that made it.
``all.r12@262144`` (``isolated``, ``node``)
    Samples of the pings that the rank began, cold and warm.
``summary.all.r12@262144``
    In the place of warm samples: order statistics, then buckets of a histogram (native/measure/pairs/pair_summary.hpp).
``forward.all.r12@262144``
    One row: number of samples, and in the column of taints the median of the time one way by the clocks of both ends.
``again.all.r12@262144``
    One row: two more medians, measured alone in the job, where the pair was slow (METHOD 19).
"""

import re
from dataclasses import dataclass
from typing import Any, NamedTuple

import pyarrow as pa

from weft.errors import DataError
from weft.store.records import MEASURE_AGAIN, CellRecord, Segment

_OP = re.compile(r"(?:(?P<what>summary|forward|again)\.)?(?P<mode>isolated|node|all)\.r(?P<round>\d+)@(?P<bytes>\d+)")
_PARTNER = re.compile(r"partner\.r(?P<round>\d+)")

NAME = pa.dictionary(pa.int32(), pa.string())


def filled(name: str, kind: Any) -> Any:
    """A column without nulls, declared so: what Parquet notes of rows that may be null doubles a column's cost."""
    return pa.field(name, kind, nullable=False)


#: Columns that say of which pair, and how measured, a row is.
PAIR = [filled("cell", NAME), filled("launch", pa.int16()), filled("source", pa.int32()), filled("target", pa.int32())]
WAY = [filled("bytes", pa.int64()), filled("mode", NAME)]


class Way(NamedTuple):
    """One round measured in one way at one size."""

    round: int
    bytes: int
    mode: str


@dataclass(frozen=True)
class Layout:
    """Which segment of a cell holds what.

    Attributes
    ----------
    partner
        Column of the samples that names each round's partners.
    of
        Segments by what they hold (``samples`` for cold and warm ones) and the way they were measured.
    """

    partner: dict[int, int]
    of: dict[str, list[tuple[Way, Segment]]]


def layout_of(record: CellRecord) -> Layout:
    """Sort the segments of a cell.

    Raises
    ------
    DataError
        A segment that is none of pairs, or one of a round whose partners are not named.
    """
    layout = Layout({}, {"samples": [], "summary": [], "forward": [], "again": []})
    for segment in record.segments:
        if partner := _PARTNER.fullmatch(segment.op):
            layout.partner[int(partner["round"])] = segment.first
            continue
        found = _OP.fullmatch(segment.op)
        if not found or int(found["round"]) not in layout.partner:
            raise DataError(
                f"cell {record.cell}, launch {record.launch_index}: segment {segment.op!r} is none of pairs",
                MEASURE_AGAIN,
            )
        way = Way(int(found["round"]), int(found["bytes"]), found["mode"])
        layout.of[found["what"] or "samples"].append((way, segment))
    return layout
