# SPDX-License-Identifier: BSD-3-Clause
"""What the breakdowns' operations took in each launch: from the last arrival on, and how late that was."""

from typing import Any

from weft.analyse.engine import Expression
from weft.analyse.floor import BESIDE
from weft.analyse.tables.breakdown import TurnRow
from weft.kernel.steps import MARK, ROUNDS, WHOLE, split_step


def is_of_breakdown(samples: Expression) -> Expression:
    """Which samples are of a breakdown's steps."""
    return samples["op"].contains(MARK)


def turn_rows(samples: Expression, segments: Expression) -> list[TurnRow]:
    """Medians of each operation of a breakdown in each launch.

    On synchronised clocks a rank that comes late is not taken for a slow operation: that runs from the last start to
    the last end, and the whole time from the first start stands apart. Otherwise both are the longest duration.
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
    defined = segments.filter(segments.phase == "warm").select(*key, "definition").distinct()
    return [row for row in medians(whole.join(defined, key)) if (row["cell"], row["call"]) in explained]


def medians(turns: Expression) -> list[TurnRow]:
    """A row for each operation and launch; of ``rounds``, whose samples are its rounds, one for each round.

    All in the engine: a cell may have ten million samples.

    Parameters
    ----------
    turns
        cell, launch, op, iteration, first, last_start, end, longest, batch, definition; times in ns.
    """
    import ibis

    of_rounds = turns["op"].endswith(f"{MARK}{ROUNDS}")
    turns = turns.mutate(
        place=ibis.ifelse(of_rounds, turns.iteration, 0).cast("int32"),
        known=(turns.definition == "global") & ~of_rounds,
    )

    def each(ns: Expression) -> Expression:
        return ns.cast("float64") / turns.batch / 1e9

    key, total, longest = ["cell", "launch", "op", "place"], each(turns["end"] - turns["first"]), each(turns.longest)
    grouped = turns.group_by(key).agg(
        samples=turns.count(), known=turns.known.all(), together_s=each(turns["end"] - turns.last_start).median(),
        total_s=total.median(), mean_s=total.mean(), longest_s=longest.median(), longest_mean_s=longest.mean(),
    )  # fmt: skip
    return [_turn(row) for row in grouped.order_by(key).to_pyarrow().to_pylist()]


def _turn(row: dict[str, Any]) -> TurnRow:
    call, step = split_step(row["op"])
    known = row["known"]
    return TurnRow(
        cell=row["cell"], launch=row["launch"], call=call, step=step or WHOLE, place=row["place"],
        samples=row["samples"], seconds=row["together_s" if known else "longest_s"],
        total_s=row["total_s" if known else "longest_s"], mean_s=row["mean_s" if known else "longest_mean_s"],
    )  # fmt: skip
