# SPDX-License-Identifier: BSD-3-Clause
"""Ibis expressions: from samples of pairs to statistics of each ordered pair, and to histograms by node.

Every time is a one-way latency: half a round trip (METHOD 25).
"""

from weft.analyse.engine import Expression
from weft.analyse.statistics.quantile import with_effective_interval
from weft.analyse.times import DISTURBED, P99_FROM
from weft.store.pair_tally import BUCKETS

PAIR = ("launch_id", "launch", "bytes", "mode", "source", "target")
QUANTILES = {"p5_s": 0.05, "p25_s": 0.25, "p75_s": 0.75, "p95_s": 0.95, "p99_s": 0.99}
STATISTICS = (
    "min_s", "p5_s", "p25_s", "median_s", "p75_s", "p95_s", "p99_s", "max_s", "mean_s", "low_s", "high_s",
    "least_s",
)  # fmt: skip


def statistics(samples: Expression, most: int) -> Expression:
    """Order statistics of the warm samples of each ordered pair, size, mode and launch (METHOD 14)."""
    warm = samples.filter(samples.phase == "warm")
    time_s = warm.duration_ns.cast("float64") / warm.batch / 1e9
    least_s = (warm.duration_ns - warm.lost_ns).cast("float64") / warm.batch / 1e9
    # Sorting a few dozen numbers in each group costs a fraction of one sort of all samples.
    grouped = warm.group_by(list(PAIR)).agg(
        times=time_s.collect(),
        samples=warm.count(),
        least=least_s.collect(),
        disturbed=(warm.lost_ns > DISTURBED * warm.duration_ns).cast("int64").sum(),
        min_s=time_s.min(),
        max_s=time_s.max(),
        mean_s=time_s.mean(),
    )
    joined = grouped.join(_intervals(warm.mutate(time_s=time_s), most), list(PAIR))
    joined = joined.mutate(times=joined.times.sort(), least=joined.least.sort())

    def at(rank: Expression, values: str = "times") -> Expression:
        # ranks count from 1; Spark refuses a BIGINT as the index of an array
        return joined[values][(rank - 1).cast("int32")]

    n = joined.samples
    found = {
        # same guard as in weft.analyse.statistics.quantile: 0.95 * 20 may come out above 19
        name: at((n * q - 1e-9).ceil().cast("int64"))
        for name, q in QUANTILES.items()
    }
    found["median_s"] = (at((n + 1) // 2) + at(n // 2 + 1)) / 2
    found["least_s"] = (at((n + 1) // 2, "least") + at(n // 2 + 1, "least")) / 2
    found["low_s"], found["high_s"] = at(joined.low), at(joined.high)
    found["p99_s"] = (n >= P99_FROM).ifelse(found["p99_s"], None)
    same = ("samples", "disturbed", "min_s", "max_s", "mean_s")
    return joined.select(*PAIR, *same, **found)


def _intervals(timed: Expression, most: int) -> Expression:
    """Ranks low and high of the samples that enclose the median of each pair's effective ones (METHOD 8)."""
    import ibis

    key: list[str] = list(PAIR)
    group, ordered = ibis.window(group_by=key), ibis.window(group_by=key, order_by="time_s")
    placed = timed.mutate(samples=timed.count().over(group), place=ibis.row_number().over(ordered) + 1)
    found = with_effective_interval(placed, key, "iteration", most)
    return found.group_by(key).agg(low=found.low.max(), high=found.high.max())


def summaries(findings: Expression) -> Expression:
    """The same statistics for pairs that the kernel summarised, in one-way seconds."""
    given = findings.filter(findings.samples.notnull())
    scaled = {name: given[name.replace("_s", "_ns")].cast("float64") / given.batch / 1e9 for name in STATISTICS}
    scaled["p99_s"] = (given.samples >= P99_FROM).ifelse(scaled["p99_s"], None)
    return given.select(*PAIR, "samples", "disturbed", **scaled)


def first_contacts(samples: Expression) -> Expression:
    """Time of the first message of each ordered pair, one way: `PAIR`, cold_s."""
    cold = samples.filter(samples.phase == "cold")
    return cold.select(*PAIR, cold_s=cold.duration_ns.cast("float64") / cold.batch / 1e9)


def second_looks(findings: Expression) -> Expression:
    """Forward times and remeasurements: `PAIR`, forward_s, again_1_s, again_2_s; null if there is none.

    A forward time is given if the clocks' residual is under a tenth of it (METHOD 2), or if no clock had to be
    synchronised.
    """
    forward = findings.forward_ns.cast("float64")
    trusted = (findings.clock_method == "shared") | (findings.clock_residual_ns * 10 < forward)
    given = trusted & (findings.forward_samples > 0) & (forward > 0)
    return findings.select(
        *PAIR,
        forward_s=given.ifelse(forward / 1e9, None),
        again_1_s=findings.again_1_ns.cast("float64") / findings.batch / 1e9,
        again_2_s=findings.again_2_ns.cast("float64") / findings.batch / 1e9,
    )


def buckets(samples: Expression) -> Expression:
    """Histogram of the warm samples of each ordered pair: `PAIR`, bucket, count."""
    warm = samples.filter(samples.phase == "warm")
    each_ns = warm.duration_ns.cast("float64") / warm.batch
    bucket = (each_ns > 1).ifelse((each_ns.log2() * BUCKETS).floor(), 0).cast("int16")
    counted = warm.mutate(bucket=bucket)
    return counted.group_by([*PAIR, "bucket"]).agg(count=counted.count())


def by_node(counted: Expression, ranks: Expression) -> Expression:
    """Histograms of pairs summed over the ranks of two nodes, and over launches.

    Returns
    -------
    Expression
        bytes, mode, source_node, target_node, bucket, count.
    """
    source = ranks.select("launch_id", source="rank", source_node="node")
    target = ranks.select("launch_id", target="rank", target_node="node")
    placed = counted.join(source, ["launch_id", "source"]).join(target, ["launch_id", "target"])
    key = ["bytes", "mode", "source_node", "target_node", "bucket"]
    return placed.group_by(key).agg(count=placed["count"].sum()).select(*key, "count")
