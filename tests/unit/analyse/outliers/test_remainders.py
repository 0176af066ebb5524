# SPDX-License-Identifier: BSD-3-Clause
"""Remainders of pairs: also of those that take no time."""

import math

import ibis
import pyarrow as pa

from weft.analyse.outliers.remainders import histogram, remainders


def test_a_pair_that_takes_no_time_has_a_remainder() -> None:
    # A fabric without node.latency: messages of no bytes inside a node took none, and DuckDB refused their logarithm.
    ends = [(source, target) for source in range(4) for target in range(4) if source != target]
    placed = pa.Table.from_pylist(
        [
            {
                "source": source, "target": target, "bytes": 0, "mode": "isolated",
                "class_": int(source // 2 != target // 2), "source_node": source // 2, "target_node": target // 2,
                "source_place": source % 2, "target_place": target % 2,
                "time_s": 1e-6 if source // 2 != target // 2 else 0.0, "checked": False,
            }
            for source, target in ends
        ]
    )  # fmt: skip
    fitted = pa.Table.from_pylist(
        [
            {
                "bytes": 0, "mode": "isolated", "source_node": a, "target_node": 1 - a, "base_s": 1e-6,
                "fitted_s": 1e-6, "touched": 0,
            }
            for a in (0, 1)
        ],
        schema=pa.schema(
            [
                ("bytes", pa.int64()), ("mode", pa.string()), ("source_node", pa.int64()), ("target_node", pa.int64()),
                ("base_s", pa.float64()), ("fitted_s", pa.float64()), ("touched", pa.int16()),
            ]
        ),
    )  # fmt: skip
    left = remainders(ibis.memtable(placed), fitted, 2)
    counted = histogram(left).to_pyarrow().to_pylist()
    assert sum(row["pairs"] for row in counted) == len(ends)
    rows = left.to_pyarrow().to_pylist()
    assert len(rows) == len(ends)
    assert all(math.isclose(row["left"], 0.0, abs_tol=1e-9) for row in rows)
