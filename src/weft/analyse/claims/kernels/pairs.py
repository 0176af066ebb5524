# SPDX-License-Identifier: BSD-3-Clause
"""Which node, cable, switch or pair is slow, and what a pair takes otherwise."""

from collections.abc import Sequence
from typing import Any

from weft.analyse.claims import matched
from weft.analyse.claims.known import Known
from weft.analyse.outliers.matched import matched_rounds
from weft.analyse.pairs.findings import REMEDIES
from weft.analyse.tables import pairs as tables
from weft.analyse.tables.claims import INCONCLUSIVE, ClaimRow, make_claim
from weft.analyse.tables.pairs import LEAST_SHOWN_S, PAIR_FACTOR, ClassRow, OutlierRow, WorstRow, largest
from weft.kernel.sizes import window_of


def find_claims(known: Known) -> list[ClaimRow]:
    """The outliers that stand, the strongest first; else that there is none, or that those seen are in doubt."""
    if matched_rounds(known.plan):
        return matched.find_claims(known)
    every = tables.NAMES.read(known.path)
    if not every:
        return [make_claim("pairs.unmeasured", "answer")]
    names = largest(every, every)
    table = tables.CLASSES.read(known.path)
    outliers = largest(tables.OUTLIERS.read(known.path), every)
    rates = any("window" in cell.parameters for cell in known.plan.measured)
    size, mode, own = shown_classes(largest(table, every), rates=rates)
    window = max((window_of(cell.parameters, size) for cell in known.plan.measured), default=1)
    counted: dict[str, Any] = {
        "pairs": sum(row["pairs"] for row in own), "nodes": len(names), "ranks": sum(row["on_node"] for row in names)
    }  # fmt: skip
    sure = [(index, row) for index, row in enumerate(outliers) if not row["doubted"]]
    found: list[ClaimRow] = [_outlier(index, row, counted) for index, row in sure]
    if not sure and outliers:
        found = [{**_outlier(0, outliers[0], counted), "id": f"pairs.{INCONCLUSIVE}", "confidence": "C"}]
    if not outliers:
        found = [_healthy(largest(tables.WORST.read(known.path), every), size, mode, own, counted)]
    found += [_latency(row, table.index(row), window if rates else None) for row in own]
    if sure:
        kind = sure[0][1]["kind"]
        found.append(make_claim(f"remedy.check-{kind}", "remedy", REMEDIES[kind], confidence="B"))
    return found


def shown_classes(classes: Sequence[ClassRow], *, rates: bool) -> tuple[int, str, list[ClassRow]]:
    """The smallest size, or the largest of ``rates``, in the mode that measured most pairs of it, and its hop classes,
    nearest first.
    """
    sums: dict[tuple[int, str], int] = {}
    for row in classes:
        sums[row["bytes"], row["mode"]] = sums.get((row["bytes"], row["mode"]), 0) + row["pairs"]
    if not sums:
        return 0, "", []
    shown = (max if rates else min)(size for size, _ in sums)
    order = {"isolated": 2, "node": 1, "all": 0}
    size, mode = max((way for way in sums if way[0] == shown), key=lambda way: (sums[way], order.get(way[1], 0)))
    return size, mode, [row for row in classes if (row["bytes"], row["mode"]) == (size, mode)]


def _outlier(index: int, row: OutlierRow, counted: dict[str, Any]) -> ClaimRow:
    worst = max(row["sightings"], key=lambda seen: seen["factor"])
    return make_claim(
        f"outlier.{row['kind']}", "answer", row["name"], worst["factor"], "factor", confidence="B",
        evidence=[f"pair_outliers:{index}"], bytes=worst["bytes"], mode=worst["mode"], role=row["role"],
        affected=row["pairs"], also=row["also"], detail=row["detail"], ways=len(row["sightings"]), **counted,
    )  # fmt: skip


def _healthy(
    worst: Sequence[WorstRow], size: int, mode: str, own: Sequence[ClassRow], counted: dict[str, Any]
) -> ClaimRow:
    """No outlier; ``slow`` pairs of their class at the shown size tell that pairs differ nevertheless."""
    far = [(row["factor"], row["time_s"]) for row in worst if row["factor"] >= PAIR_FACTOR]
    factor = next((factor for factor, time_s in far if time_s * (1 - 1 / factor) >= LEAST_SHOWN_S), None)
    slow = sum(row["slow"] or 0 for row in own)
    return make_claim("pairs.no-outlier", "answer", "", factor, "factor", slow=slow, bytes=size, mode=mode, **counted)


def _latency(row: ClassRow, place: int, window: int | None) -> ClaimRow:
    return make_claim(
        f"latency.{row['hops']}-hops", "breakdown", row["class"], row["median_s"], "seconds",
        evidence=[f"pair_classes:{place}"], bytes=row["bytes"], mode=row["mode"], pairs=row["pairs"], hops=row["hops"],
        window=window,
    )  # fmt: skip
