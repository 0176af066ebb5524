# SPDX-License-Identifier: BSD-3-Clause
"""DuckDB and Spark make the same tables of the same samples."""

import math
import shutil
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from made_run import make_run

from made_pairs import Cluster, Faults
from made_pairs_run import make_pairs_run
from weft.analyse.engine import connect
from weft.analyse.make import load_plan, make_tables
from weft.analyse.pairs.make import make_pair_analysis
from weft.analyse.pairs.schemas import SCHEMAS
from weft.errors import DataError
from weft.store import convert

SPARK = "spark://local[2]"
MISSING = [name for name, there in (("Java 17", shutil.which("java")),) if not there]
try:
    import pyspark  # noqa: F401  # pyright: ignore[reportMissingImports, reportUnusedImport]
except ImportError:
    MISSING.append("PySpark")
with_spark = pytest.mark.skipif(bool(MISSING), reason=f"{' and '.join(MISSING)} not here: pip install 'weft[spark]'")


def rows_of(path: Path) -> list[dict[str, Any]]:
    return pq.read_table(path).to_pylist()


def same(one: Any, other: Any) -> bool:
    """Equal, floating-point sums but for their last digits."""
    if isinstance(one, float) and isinstance(other, float):
        return math.isclose(one, other, rel_tol=1e-9) or (math.isnan(one) and math.isnan(other))
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(same, one, other))
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(same(one[key], other[key]) for key in one)
    return bool(one == other)


@with_spark
@pytest.mark.timeout(900)
def test_pairs_give_the_same_tables_on_both_engines(tmp_path: Path) -> None:
    cluster = Cluster(6, 2, 2, uplinks=1, per_pod=3, pod_uplinks=1)
    faults = Faults(senders={3: 2.0}, pairs={(1, 9): 4.0}, flukes=5)
    run = make_pairs_run(tmp_path / "run", cluster, faults, launches=2, modes={"isolated": 1.0, "all": 1.4})
    names = [f"pair_{name}.parquet" for name in SCHEMAS]
    embedded = {name: rows_of(run / "tables" / name) for name in names}
    make_pair_analysis(run, load_plan(run), connect(SPARK))
    for name in names:
        assert embedded[name] or name == "pair_blame.parquet"
        assert same(embedded[name], rows_of(run / "tables" / name)), name
    assert [row["name"] for row in embedded["pair_blame.parquet"]] == ["n3", "1 on n0 with 9 on n4"]


@with_spark
@pytest.mark.timeout(900)
def test_calls_give_the_same_tables_on_both_engines(tmp_path: Path) -> None:
    run = make_run(tmp_path / "run")
    convert(run)
    make_tables(run)
    names = ("calls.parquet", "medians.parquet", "iterations.parquet", "floor.parquet")
    embedded = {name: rows_of(run / "tables" / name) for name in names}
    make_tables(run, SPARK)
    for name in names:
        assert embedded[name]
        assert same(embedded[name], rows_of(run / "tables" / name)), name


def test_an_engine_that_nobody_knows_is_refused() -> None:
    with pytest.raises(DataError, match="there is no engine 'polars://'"):
        connect("polars://")
