# SPDX-License-Identifier: BSD-3-Clause
"""The final time of each ordered pair of a cell, straight from its samples: what a check needs, and no more."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from weft.store.cells import CellData, finished_cells, folder_path, read_cell
from weft.store.pair_layout import HELD, Layout, Way, is_of_pairs, layout_of
from weft.store.pair_runs import met
from weft.store.records import Segment

Floats = NDArray[np.float64]
TRUSTED = 10  # a forward time is trusted if it is so many times the residual of the clocks (METHOD 2)


class PairMedians(NamedTuple):
    """Ordered pairs of ranks at each size, with their times in s; shape (pairs,) each."""

    bytes: NDArray[np.int64]
    source: NDArray[np.int64]
    target: NDArray[np.int64]
    time_s: Floats  # half a round trip: the median, or that of three where the pair was measured again (METHOD 19)
    forward_s: Floats  # one way; nan where the clocks do not tell


def read_pair_medians(folder: object, cell: str, launches: Sequence[str] = ()) -> list[PairMedians]:
    """The times of a cell in each finished launch, or in those named.

    Raises DataError: A record is torn or not one of pairs.
    """
    found: list[PairMedians] = []
    for name, launch in finished_cells(folder_path(folder)):
        if name != cell:
            continue
        data = read_cell(folder, cell, launch, checksums=False)
        if data.samples is not None and is_of_pairs(data.record) and (not launches or data.record.launch in launches):
            found.append(_of_cell(data, layout_of(data.record)))
    return found


def _of_cell(data: CellData, layout: Layout) -> PairMedians:
    joined = met(data, layout)
    forward, again = dict(layout.of["forward"]), dict(layout.of["again"])
    rows = [
        _of_way(data, layout, way, segment, joined.target[:, place], forward.get(way), again.get(way))
        for place, (way, segment) in enumerate(zip(joined.ways, joined.segments, strict=True))
        if segment.phase == "warm"
    ]
    return PairMedians(*(np.concatenate(column) for column in zip(*rows, strict=True)))


def _of_way(
    data: CellData, layout: Layout, way: Way, warm: Segment, target: NDArray[np.int64], forward: Segment | None,
    again: Segment | None,
) -> PairMedians:  # fmt: skip
    samples, clock = data.samples, data.record.clock
    assert samples is not None
    source = np.flatnonzero(target != np.arange(len(target)))
    column = (
        warm.columns.index(HELD["samples"][0]) if "columns" in warm.model_fields_set else layout.columns("samples")[0]
    )
    time_ns = np.median(samples[source, warm.first : warm.first + warm.count, column], axis=1) / warm.batch
    if again is not None:
        more = samples[source, again.first][:, layout.columns("again")] / warm.batch
        seen = (more > 0).all(axis=1)
        time_ns[seen] = np.median(np.column_stack([time_ns, more])[seen], axis=1)
    one_way = np.full(len(source), np.nan)
    if forward is not None:
        count, ns = samples[source, forward.first][:, layout.columns("forward")].T
        trusted = (count > 0) & (ns > 0) & ((clock.method == "shared") | (TRUSTED * clock.residual_ns < ns))
        one_way[trusted] = ns[trusted] / 1e9
    return PairMedians(np.full(len(source), way.bytes), source, target[source], time_ns / 1e9, one_way)
