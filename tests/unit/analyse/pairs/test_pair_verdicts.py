# SPDX-License-Identifier: BSD-3-Clause
"""METHOD 19: the time of a pair that was measured again is the median of three, in whatever order they came."""

from dataclasses import dataclass
from itertools import permutations
from pathlib import Path
from typing import Any, cast

import numpy as np
import pyarrow as pa
import pytest

from made.attributed import pair_times
from made.pairs import Cluster
from made.pairs_run import make_pairs_run
from weft.analyse.claims.kernels.pairs import shown_classes
from weft.analyse.tables.claims import CLAIMS
from weft.analyse.tables.pairs import CLASSES, ClassRow

CLUSTER = Cluster(4, 1, 2, uplinks=1, per_pod=2, pod_uplinks=1)
ORDERS = list(permutations((1e-6, 2e-6, 5e-6)))


@pytest.mark.parametrize("launches", [1, 2])
def test_the_median_of_three_counts_in_whatever_order_they_came(tmp_path: Path, launches: int) -> None:
    made = CLUSTER.pairs()
    rows = made.to_pylist()
    for row, (first, second, third) in zip(rows, ORDERS, strict=False):
        row |= {"median_s": first, "again_1_s": second, "again_2_s": third}
    rows = [row | {"launch": launch} for launch in range(1, launches + 1) for row in rows]
    (judged,) = pair_times(tmp_path, CLUSTER, pa.Table.from_pylist(rows, schema=made.schema))
    assert judged.ends.source.tolist()[: len(ORDERS)] == [row["source"] for row in rows[: len(ORDERS)]]
    assert judged.time_s[: len(ORDERS)].tolist() == pytest.approx([2e-6] * len(ORDERS), rel=1e-12)
    assert np.flatnonzero(judged.checked).tolist() == list(range(len(ORDERS)))


def test_launches_that_measured_other_pairs_are_put_together(tmp_path: Path) -> None:
    """In whatever order the rows stand; a pair of one launch alone has its time."""
    made = CLUSTER.pairs().to_pylist()
    one = [row | {"launch": 1, "median_s": 1e-6} for row in made if row["target"] != 2]
    other = [row | {"launch": 2, "median_s": 3e-6} for row in made if row["target"] != 3][::-1]
    table = pa.Table.from_pylist(one + other, schema=CLUSTER.pairs().schema)
    (judged,) = pair_times(tmp_path, CLUSTER, table)
    assert len(judged.ends.source) == len(made)
    expected = {2: 3e-6, 3: 1e-6}
    assert judged.time_s.tolist() == pytest.approx([expected.get(at, 2e-6) for at in judged.ends.target.tolist()])
    assert np.add.reduce(list(judged.each("samples", np.int64))).sum() == 30 * len(one + other)


@dataclass(frozen=True)
class Model(Cluster):
    """Its ranks of one node are as near as in a model: the messages of one pair of each take ticks more."""

    late_s: float = 3e-9

    def pairs(self, *args: Any, **made: Any) -> pa.Table:
        table = super().pairs(*args, **made)
        rows = table.to_pylist()
        for row in rows:
            source, target = row["source"], row["target"]
            if source // self.per_node == target // self.per_node:
                seconds = 6e-9 + self.late_s * ((source + target) % 8 == 1)
                row |= {name: seconds for name in row if name.endswith("_s") and row[name] is not None}
        return pa.Table.from_pylist(rows, schema=table.schema)


@pytest.mark.parametrize(("late_s", "slow"), [(4e-9, False), (60e-9, True)])
def test_a_pair_that_is_a_tick_of_the_clock_later_is_not_slow(tmp_path: Path, late_s: float, slow: bool) -> None:
    """A healthy machine had 96 pairs that take 1.5 times as long as others: 9 ns and 6 ns."""
    run = make_pairs_run(tmp_path / "run", Model(6, 4, 3, uplinks=1, per_pod=2, pod_uplinks=1, late_s=late_s))
    assert bool(sum(row["slow"] for row in CLASSES.read(run))) is slow
    (answer,) = [claim for claim in CLAIMS.read(run) if claim["kind"] == "answer"]
    assert slow or (answer["id"], answer["value"]) == ("pairs.no-outlier", None)


def test_the_card_has_the_latency_of_the_smallest_message_and_the_rate_of_the_largest() -> None:
    rows = [cast(ClassRow, {"bytes": size, "mode": "all", "pairs": 2}) for size in (8, 32_768, 262_144)]
    assert [shown_classes(rows, rates=rates)[0] for rates in (False, True)] == [8, 262_144]
