# SPDX-License-Identifier: BSD-3-Clause
"""The logarithmic histogram: its quantiles lie within the bound that is told, in NumPy and in Ibis alike."""

import ibis
import numpy as np
import pyarrow as pa
import pytest

from weft.analyse.engine import connect
from weft.analyse.pairs import exact as samples
from weft.analyse.pairs.histogram import ERROR, edge, quantile
from weft.analyse.statistics.quantile import quantile_rank
from weft.errors import DataError
from weft.store.pair_tally import BUCKETS, bucket_of

SHAPES = {
    "narrow": lambda rng, n: rng.normal(50_000, 500, n),
    "long tail": lambda rng, n: 800 * (1 + rng.pareto(1.2, n)),
    "two groups": lambda rng, n: np.where(rng.random(n) < 0.4, 900.0, 88_000.0) * rng.normal(1, 0.01, n),
}


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("q", [0.05, 0.5, 0.99, 1.0])
def test_a_quantile_from_buckets_is_within_the_bound_of_the_exact_one(shape: str, q: float) -> None:
    for seed in range(20):
        ns = np.sort(SHAPES[shape](np.random.default_rng(seed), 1001).astype(np.int64).clip(1))
        buckets, counts = np.unique(bucket_of(ns), return_counts=True)
        exact = ns[quantile_rank(len(ns), q) - 1] * 1e-9
        assert quantile(buckets, counts, q) == pytest.approx(exact, rel=ERROR * 1.0001)


def test_the_bound_is_told_right() -> None:
    assert pytest.approx(0.0109, abs=1e-4) == ERROR
    assert edge(BUCKETS * 10) == pytest.approx(1024e-9)
    with pytest.raises(ValueError, match="no quantile"):
        quantile(np.array([], np.int64), np.array([], np.int64), 0.5)


def test_the_engine_takes_the_same_quantiles_as_numpy() -> None:
    rng = np.random.default_rng(7)
    groups = {size: rng.lognormal(8 + size, 0.5, 777 + size).astype(np.int64) for size in range(3)}
    rows = [
        {"bytes": size, "bucket": int(bucket), "count": int(count)}
        for size, ns in groups.items()
        for bucket, count in zip(*np.unique(bucket_of(ns), return_counts=True), strict=True)
    ]
    wanted = {"median_s": 0.5, "p99_s": 0.99}
    found = connect().to_pyarrow(samples.quantiles(ibis.memtable(pa.Table.from_pylist(rows)), ["bytes"], wanted))
    assert len(found) == 3
    for row in found.to_pylist():
        buckets, counts = np.unique(bucket_of(groups[row["bytes"]]), return_counts=True)
        assert row["samples"] == len(groups[row["bytes"]])
        for name, q in wanted.items():
            assert row[name] == pytest.approx(quantile(buckets, counts, q), rel=1e-9)


def test_exact_quantiles_that_do_not_fit_are_refused_with_the_numbers() -> None:
    samples.refuse_oversize(1000, free=1 << 20)
    with pytest.raises(
        DataError, match=r"exact quantiles of 501,219,328 samples need about 6.54 GiB .* 8 GiB"
    ) as refused:
        samples.refuse_oversize(501_219_328, free=8 << 30)
    assert "within 1.1 %" in refused.value.remedy


def test_exact_quantiles_are_those_of_the_sorted_samples() -> None:
    times = np.random.default_rng(2).lognormal(0, 1, 501)
    rows = pa.table({"bytes": np.zeros(501, int), "mode": ["all"] * 501, "class_": np.zeros(501, int), "time_s": times})
    (found,) = connect().to_pyarrow(samples.exact_hops(ibis.memtable(rows), free=1 << 30)).to_pylist()
    assert found["median_s"] == np.sort(times)[250]
    assert found["p99_s"] == pytest.approx(np.quantile(times, 0.99))
    assert (found["min_s"], found["max_s"], found["samples"]) == (times.min(), times.max(), 501)
