# SPDX-License-Identifier: BSD-3-Clause
"""Ibis expressions: from samples of ranks to the time of each iteration, and to order statistics of those times."""

from collections.abc import Sequence

import ibis

from weft.analyse.engine import Expression, memory_table
from weft.analyse.floor import BESIDE
from weft.analyse.statistics.quantile import middle_ranks, quantile_rank, with_effective_interval
from weft.analyse.tables.breakdown import TurnRow
from weft.kernel.steps import MARK, ROUNDS, WHOLE, split_step

DISTURBED = 0.01  # a sample that lost more than this share of its time counts as disturbed
P99_FROM = 100  # with fewer samples p99 would be just the maximum (METHOD 13)


def iteration_times(samples: Expression, segments: Expression) -> Expression:
    """Time of each iteration of a collective operation, in seconds (METHOD 2), by the definition its segment records.
    ``global``: last end minus first start over the ranks, on synchronised clocks; ``local``: the longest duration of a
    rank, as always of the floor's ``latency``, ``swap`` and ``copy-...``. The undisturbed time lies in least_s ..
    time_s (METHOD 11): a rank that waits loses what the other lost. Disturbed: the sum is over `DISTURBED` of it.
    """
    key = ["cell", "launch", "op", "phase"]
    whole = samples.group_by([*key, "iteration"]).agg(
        first=samples.start_ns.min(), last=(samples.start_ns + samples.duration_ns).max(),
        longest=samples.duration_ns.max(), batch=samples.batch.max(), lost=samples.lost_ns.sum(),
    )  # fmt: skip
    joined = whole.join(segments.select(*key, "definition"), key)
    # copies and ping-pongs of the floor are per-rank costs: in a short copy, the skew of the starts would dominate
    alone: Expression = joined["op"].startswith("copy-") | joined["op"].isin(["latency", "swap"])
    span = ibis.ifelse((joined.definition == "global") & ~alone, joined.last - joined.first, joined.longest)
    lost = ibis.least(joined.lost, span)
    scale = joined.batch * 1e9
    time_s, least_s = span.cast("float64") / scale, (span - lost).cast("float64") / scale
    return joined.select(*key, "iteration", time_s=time_s, least_s=least_s, disturbed=lost > DISTURBED * span)


def order_statistics(times: Expression, key: Sequence[str], counts: Sequence[int]) -> Expression:
    """Exact order statistics of ``time_s`` within each group; ``counts``: the sizes that groups have."""
    group, ordered = ibis.window(group_by=list(key)), ibis.window(group_by=list(key), order_by="time_s")
    placed = times.mutate(samples=times.count().over(group), place=ibis.row_number().over(ordered) + 1)
    # the ranks of each quantile, by the size of a group: 0 for one that is not reported
    middle = [middle_ranks(n) for n in counts]
    columns = {"of": counts, "middle_low": [low for low, _ in middle], "middle_high": [high for _, high in middle]}
    for percent in (5, 25, 75, 95, 99):
        columns[f"p{percent}"] = [quantile_rank(n, percent / 100) for n in counts]
    columns["p99"] = [rank if n >= P99_FROM else 0 for n, rank in zip(counts, columns["p99"], strict=True)]
    ranks = memory_table(columns, schema=dict.fromkeys(columns, "int64"))
    ranked = placed.join(ranks, placed.samples == ranks.of)
    joined = with_effective_interval(ranked, key, "iteration", max(counts, default=1))

    def at(column: str) -> Expression:
        return joined.time_s.max(where=joined.place == joined[column])

    named = {
        "low_s": "low", "high_s": "high", "q1_s": "p25", "q3_s": "p75", "p5_s": "p5", "p95_s": "p95", "p99_s": "p99"
    }  # fmt: skip
    return joined.group_by(list(key)).agg(
        **_common(joined), **{name: at(column) for name, column in named.items()}, samples=joined.samples.max(),
        median_s=(at("middle_low") + at("middle_high")) / 2, coverage=joined.coverage.max(),
        mean_s=joined.time_s.mean(), least_s=joined.least_s.median(),
    )  # fmt: skip


def _common(rows: Expression) -> dict[str, Expression]:
    """What was disturbed, and the ends of all samples, whatever weight a launch has."""
    return {
        "disturbed": rows.disturbed.cast("int64").sum(), "lost_s": (rows.time_s - rows.least_s).max(),
        "min_s": rows.time_s.min(), "max_s": rows.time_s.max(),
    }  # fmt: skip


def launch_weighted(times: Expression, key: Sequence[str]) -> Expression:
    """Quantiles of the samples of all launches, in which each launch counts alike, however many samples it took. A
    sample of a launch with n weighs 1 / n; the quantile q is the smallest time with the share q of the weight below.
    """
    weighed = times.mutate(weight=1.0 / times.count().over(ibis.window(group_by=[*key, "launch"])))
    so_far = ibis.cumulative_window(group_by=list(key), order_by=["time_s", "launch", "iteration"])
    whole = ibis.window(group_by=list(key))
    ranked = weighed.mutate(share=weighed.weight.sum().over(so_far) / weighed.weight.sum().over(whole))

    def at(quantile: float) -> Expression:
        # what rounding took from a sum of weights is given back
        return ranked.time_s.min(where=ranked.share >= quantile - 1e-9)

    return ranked.group_by(list(key)).agg(
        **_common(ranked), samples=ranked.count(), p5_s=at(0.05), p95_s=at(0.95),
        p99_s=ibis.ifelse(ranked.count() >= P99_FROM, at(0.99), ibis.null("float64")),
        mean_s=(ranked.time_s * ranked.weight).sum() / ranked.weight.sum(),
    )  # fmt: skip


def is_of_breakdown(samples: Expression) -> Expression:
    """Which samples are of a breakdown's steps."""
    return samples["op"].contains(MARK)


def turn_rows(samples: Expression, segments: Expression) -> list[TurnRow]:
    """Medians of each operation of a breakdown in each launch. On synchronised clocks from the last start to the last
    end, and from the first; else both are the longest duration.
    """
    key = ["cell", "launch", "op"]
    steps = segments.filter(is_of_breakdown(segments)).select("cell", "op").distinct().to_pyarrow().to_pylist()
    known = {(row["cell"], row["op"]) for row in steps if not row["op"].startswith(BESIDE)}
    # an earlier Weft measured the call again for its breakdown: its times are not those of the table
    found = {(cell, split_step(op)[0]) for cell, op in known}
    explained = {(cell, call) for cell, call in found if (cell, f"{call}{MARK}{WHOLE}") not in known}
    if not explained:
        return []
    is_explained = samples["op"].isin(sorted({call for _, call in explained}))
    own = samples.filter((is_of_breakdown(samples) | is_explained) & (samples.phase == "warm"))
    whole = own.group_by([*key, "iteration"]).agg(
        first=own.start_ns.min(), last_start=own.start_ns.max(), end=(own.start_ns + own.duration_ns).max(),
        longest=own.duration_ns.max(), batch=own.batch.max(),
    )  # fmt: skip
    defined = segments.filter(segments.phase == "warm").select(*key, "definition").distinct()
    return [row for row in medians(whole.join(defined, key)) if (row["cell"], row["call"]) in explained]


def medians(turns: Expression) -> list[TurnRow]:
    """A row for each operation and launch, of ``rounds`` for each round; ns, in the engine: ten million samples."""
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
    rows: list[TurnRow] = []
    for row in grouped.order_by(key).to_pyarrow().to_pylist():
        (call, step), known = split_step(row["op"]), row["known"]
        rows.append(TurnRow(
            cell=row["cell"], launch=row["launch"], call=call, step=step or WHOLE, place=row["place"],
            samples=row["samples"], seconds=row["together_s" if known else "longest_s"],
            total_s=row["total_s" if known else "longest_s"], mean_s=row["mean_s" if known else "longest_mean_s"],
        ))  # fmt: skip
    return rows
