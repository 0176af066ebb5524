# SPDX-License-Identifier: BSD-3-Clause
"""The logarithmic histogram: its quantiles lie within the bound that is told."""

import ibis
import numpy as np
import pyarrow as pa
import pytest

from weft.analyse.engine import connect
from weft.analyse.pairs import hop_tables as samples
from weft.analyse.statistics.quantile import quantile_rank
from weft.errors import DataError
from weft.store.pair_scan import bucket_of

SHAPES = {
    "narrow": lambda rng, n: rng.normal(50_000, 500, n),
    "long tail": lambda rng, n: 800 * (1 + rng.pareto(1.2, n)),
    "two groups": lambda rng, n: np.where(rng.random(n) < 0.4, 900.0, 88_000.0) * rng.normal(1, 0.01, n),
}


def test_a_quantile_from_buckets_is_within_the_bound_of_the_exact_one() -> None:
    assert pytest.approx(0.0109, abs=1e-4) == samples.ERROR
    groups = {
        f"{shape} {seed}": np.sort(SHAPES[shape](np.random.default_rng(seed), 1001).astype(np.int64).clip(1))
        for shape in SHAPES
        for seed in range(20)
    }
    rows = [
        {"group": group, "bucket": int(bucket), "count": int(count)}
        for group, ns in groups.items()
        for bucket, count in zip(*np.unique(bucket_of(ns), return_counts=True), strict=True)
    ]
    wanted = {f"q{q}": q for q in (0.05, 0.5, 0.99, 1.0)}
    found = connect().to_pyarrow(samples.quantiles(ibis.memtable(pa.Table.from_pylist(rows)), ["group"], wanted))
    assert len(found) == len(groups)
    for row in found.to_pylist():
        ns = groups[row["group"]]
        assert row["samples"] == len(ns)
        for name, q in wanted.items():
            exact = ns[quantile_rank(len(ns), q) - 1] * 1e-9
            assert row[name] == pytest.approx(exact, rel=samples.ERROR * 1.0001)


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
