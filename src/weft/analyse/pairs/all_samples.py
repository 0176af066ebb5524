# SPDX-License-Identifier: BSD-3-Clause
"""Statistics over all samples of pairs, not only each pair's median: by hop class, from histograms or exact."""

import math
from collections.abc import Sequence

from weft.analyse.engine import Expression
from weft.analyse.pairs.hop_tables import CLASS
from weft.errors import DataError
from weft.format import format_bytes
from weft.host import read_host, smallest
from weft.store.pair_tally import BUCKETS

#: Bytes of memory that DuckDB needs per sample for an exact quantile (measured: 6.6 GiB for 501 million samples).
EXACT_BYTES = 14
#: Share of the free memory that an exact quantile may use.
EXACT_SHARE = 0.5


def quantiles(histogram: Expression, key: Sequence[str], wanted: dict[str, float]) -> Expression:
    """Quantiles from histograms, each within 1.1 % of the exact one (`weft.analyse.pairs.histogram`).

    Returns
    -------
    Expression
        The key, samples, and a column of seconds for each quantile.
    """
    import ibis

    key = list(key)
    counted = histogram.group_by([*key, "bucket"]).agg(count=histogram["count"].sum())
    group = ibis.window(group_by=key)
    along = ibis.window(group_by=key, order_by="bucket", preceding=None, following=0)
    ranked = counted.mutate(samples=counted["count"].sum().over(group), until=counted["count"].sum().over(along))
    log_2 = math.log(2)
    middle = 2 ** (1 / (2 * BUCKETS)) * 1e-9
    found: dict[str, Expression] = {}
    for name, q in wanted.items():
        # the quantile is the sample of rank ceil(q n): it lies in the first bucket whose running count reaches that
        # rank
        rank = ibis.greatest((ranked.samples * q - 1e-9).ceil(), 1)
        bucket = ranked.bucket.min(where=ranked.until >= rank).cast("float64")
        found[name] = (bucket / BUCKETS * log_2).exp() * middle
    return ranked.group_by(key).agg(samples=ranked.samples.max(), **found)


def spread(histogram: Expression) -> Expression:
    """Spread of the samples of each class: `CLASS`, samples, median_s, p99_s (both within 1.1 %), ratio."""
    found = quantiles(histogram, CLASS, {"median_s": 0.5, "p99_s": 0.99})
    return found.mutate(ratio=found.p99_s / found.median_s)


def exact_hops(samples: Expression, free: int | None = None) -> Expression:
    """The hop table over all samples with exact quantiles.

    Raises DataError: The samples would not fit into `EXACT_SHARE` of the free memory.

    Parameters
    ----------
    free
        Free memory in bytes; by default that of this machine.
    """
    refuse_oversize(int(samples.count().to_pyarrow().as_py()), free_memory() if free is None else free)
    return samples.group_by(CLASS).agg(
        samples=samples.count(),
        min_s=samples.time_s.min(),
        mean_s=samples.time_s.mean(),
        median_s=samples.time_s.median(),
        p99_s=samples.time_s.quantile(0.99),
        max_s=samples.time_s.max(),
    )


def refuse_oversize(samples: int, free: int) -> None:
    """Refuse exact quantiles that would exhaust the memory.

    Raises DataError: The quantiles need more than `EXACT_SHARE` of the free memory; the message gives both numbers.
    """
    need = samples * EXACT_BYTES
    if need > EXACT_SHARE * free:
        raise DataError(
            f"exact quantiles of {samples:,} samples need about {format_bytes(need)} of memory, and of the "
            f"{format_bytes(free)} free memory half may be used",
            "leave --exact out: quantiles from the histogram are within 1.1 %; or use a machine with more memory",
        )


def free_memory() -> int:
    """Free memory in bytes: the smallest limit of machine, control group and scheduler."""
    limit = smallest(read_host().limits)
    return limit.bytes if limit else 0
