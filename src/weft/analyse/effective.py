# SPDX-License-Identifier: BSD-3-Clause
r"""Effective sample size: successive samples are alike, so n of them are worth fewer independent ones (METHOD 8).

The same as in the kernels (native/measure/sample/effective.cpp): with r the lag-1 correlation of the samples' ranks,
ties sharing the mean of theirs, corrected for its bias -(1 + 3 r) / n (Kendall 1954),

.. math:: n_e = n \frac{1 - r}{1 + r} \quad (r > 0), \qquad n_e = n \quad (r \le 0).

The interval of the median is at the quantiles of the order statistics that enclose it among n_e samples.
"""

from collections.abc import Sequence

from weft.analyse.engine import Expression, memory_table
from weft.analyse.quantile import median_ranks

#: From so many effective samples on the ranks follow from the normal distribution.
MANY = 2000


def with_effective_interval(ranked: Expression, key: Sequence[str], in_order: str, most: int) -> Expression:
    """Samples with the ranks ``low`` and ``high`` and the ``coverage`` of their group's effective number of samples."""
    import ibis

    group, ties = ibis.window(group_by=list(key)), ibis.window(group_by=[*key, "time_s"])
    measured = ibis.window(group_by=list(key), order_by=in_order)
    centred = ranked.mutate(off=ranked.place.mean().over(ties) - (ranked.samples + 1) / 2)
    lagged = centred.mutate(both=centred.off * centred.off.lag().over(measured).coalesce(0.0))
    summed = lagged.mutate(squares=(lagged.off * lagged.off).sum().over(group), products=lagged.both.sum().over(group))
    n = summed.samples.cast("float64")
    biased = ibis.ifelse(summed.squares > 0, summed.products / summed.squares, 0.0)
    corrected = ibis.ifelse((n < 3) | (summed.squares == 0), 0.0, (biased + (1 + 3 * biased) / n).clip(-1.0, 1.0))
    effective = ibis.ifelse(corrected <= 0, n, ibis.greatest(1.0, n * (1 - corrected) / (1 + corrected)))
    replaced = {"low", "high", "coverage"} & set(summed.columns)
    counted = summed.drop(*replaced).mutate(of_effective=effective.floor().cast("int64"))
    known = range(1, min(most, MANY) + 1)
    found = [median_ranks(each) for each in known]
    table = memory_table(
        {"known": list(known), "rank": [each.low for each in found], "coverage": [each.coverage for each in found]},
        schema={"known": "int64", "rank": "int64", "coverage": "float64"},
    )
    joined = counted.mutate(known=ibis.least(counted.of_effective, MANY)).join(table, "known")
    by_normal = ((joined.of_effective - 1.96 * joined.of_effective.sqrt()) / 2).floor()
    rank = ibis.ifelse(joined.of_effective > MANY, by_normal, joined["rank"])
    share = rank / (joined.of_effective + 1)
    low = ibis.ifelse(joined.coverage < 0.95, 1, (share * (joined.samples + 1) + 1e-9).floor()).cast("int64")
    low = ibis.greatest(low, 1)
    return joined.mutate(low=low, high=joined.samples + 1 - low)
