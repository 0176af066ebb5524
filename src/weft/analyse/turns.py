# SPDX-License-Identifier: BSD-3-Clause
"""What the breakdowns' operations took in each launch: from the last arrival on, and how late that was."""

from collections.abc import Iterable, Mapping
from statistics import fmean, median
from typing import Any

from weft.analyse.engine import Expression
from weft.analyse.floor import BESIDE
from weft.analyse.tables.breakdown import TurnRow
from weft.kernel.steps import MARK, ROUNDS, WHOLE, split_step

Key = tuple[str, int, str, int]


def is_of_breakdown(samples: Expression) -> Expression:
    """Which samples are of a breakdown's steps."""
    return samples["op"].contains(MARK)


def turn_rows(samples: Expression, segments: Expression) -> list[TurnRow]:
    """Medians of each operation of a breakdown in each launch.

    On synchronised clocks a rank that comes late is not taken for a slow operation: that runs from the last start to
    the last end, and the whole time from the first start stands apart. Otherwise both are the longest duration.

    Parameters
    ----------
    samples
        Of all operations.
    segments
        Rows of the table of segments: which definition of time holds.
    """
    key = ["cell", "launch", "op"]
    steps = segments.filter(segments["op"].contains(MARK)).select("cell", "op").distinct().to_pyarrow().to_pylist()
    told = {(row["cell"], row["op"]) for row in steps if not row["op"].startswith(BESIDE)}
    # an earlier Weft measured the call again for its breakdown: its times are not those of the table
    found = {(cell, split_step(op)[0]) for cell, op in told}
    explained = {(cell, call) for cell, call in found if (cell, f"{call}{MARK}{WHOLE}") not in told}
    if not explained:
        return []
    ops = sorted({call for _, call in explained})
    own = samples.filter((is_of_breakdown(samples) | samples["op"].isin(ops)) & (samples.phase == "warm"))
    whole = own.group_by([*key, "iteration"]).agg(
        first=own.start_ns.min(),
        last_start=own.start_ns.max(),
        end=(own.start_ns + own.duration_ns).max(),
        longest=own.duration_ns.max(),
        batch=own.batch.max(),
    )
    defined = segments.filter(segments.phase == "warm").select(*key, "definition")
    rows = whole.join(defined, key).to_pyarrow().to_pylist()
    return medians(row for row in rows if (row["cell"], split_step(row["op"])[0]) in explained)


def medians(rows: Iterable[Mapping[str, Any]]) -> list[TurnRow]:
    """A row for each operation and launch; of ``rounds``, whose samples are its rounds, one for each round."""
    groups: dict[Key, list[Mapping[str, Any]]] = {}
    for row in rows:
        place = row["iteration"] if split_step(row["op"])[1] == ROUNDS else 0
        groups.setdefault((row["cell"], row["launch"], row["op"], place), []).append(row)
    return [_turn(key, group) for key, group in sorted(groups.items(), key=lambda item: item[0])]


def _turn(key: Key, group: list[Mapping[str, Any]]) -> TurnRow:
    cell, launch, op, place = key
    call, step = split_step(op)
    known = all(row["definition"] == "global" for row in group) and step != ROUNDS
    total_ns = [(row["end"] - row["first"] if known else row["longest"]) / row["batch"] for row in group]
    return TurnRow(
        cell=cell, launch=launch, call=call, step=step or WHOLE, place=place, samples=len(group),
        seconds=median((row["end"] - row["last_start"] if known else row["longest"]) / row["batch"] for row in group)
        / 1e9,
        total_s=median(total_ns) / 1e9, mean_s=fmean(total_ns) / 1e9,
    )  # fmt: skip
