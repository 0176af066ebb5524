# SPDX-License-Identifier: BSD-3-Clause
"""Which performance guidelines of MPI a library violates, by paired tests over launches.

A call and what it is held against are measured in turns, so that what disturbs one disturbs the other. Launches are the
unit: the logarithm of the ratio of their medians is one value a launch. A guideline is violated if the mean ratio
exceeds `MATTERS` (10 %: a mock-up may copy less, and nobody would replace a call for less) by Yuen's t, which leaves
the smallest and the largest launch out; all guidelines of a run together have an error of `FAMILY` (Holm).
"""

import math
from collections.abc import Iterable, Mapping
from statistics import median

from weft.analyse.statistics.interval import CONFIDENCE, student_quantile
from weft.analyse.statistics.significance import adjust_by_holm, paired_test, trimmed_mean
from weft.analyse.tables.answers import FEWEST_LAUNCHES, MATTERS, GuidelineRow
from weft.analyse.tables.breakdown import TurnRow
from weft.kernel.sizes import split_op
from weft.kernel.steps import WHOLE
from weft.mpi.guidelines import FEWER
from weft.plan.records import Cell

#: Chance that any guideline of a run is called violated that is not.
FAMILY = 0.01
#: Launches that agree closer than this do so by chance: no clock here is better for a call of a microsecond.
LEAST_SPREAD = 0.01


def guideline_rows(turns: Iterable[TurnRow], cells: Mapping[str, Cell]) -> list[GuidelineRow]:
    """A row for each guideline and size of the cells that measured some, in their order."""
    launches: dict[tuple[str, str], dict[int, dict[str, float]]] = {}
    for turn in turns:
        if cells[turn["cell"]].parameters.get("guidelines"):
            launches.setdefault((turn["cell"], turn["call"]), {}).setdefault(turn["launch"], {})[turn["step"]] = turn[
                "total_s"
            ]
    rows = [
        row
        for (cell, call), found in launches.items()
        for guideline in cells[cell].parameters["guidelines"]
        if (row := _row(cells[cell], call, guideline, list(found.values())))
    ]
    chances = adjust_by_holm([row["chance"] for row in rows])
    for row, chance in zip(rows, chances, strict=True):
        row["chance"], row["violated"] = chance, chance <= FAMILY and row["launches"] >= FEWEST_LAUNCHES
    order = {name: place for place, name in enumerate(cells)}
    return sorted(rows, key=lambda row: (order[row["cell"]], row["bytes"]))


def _row(cell: Cell, call: str, guideline: str, launches: list[dict[str, float]]) -> GuidelineRow | None:
    first, second = (guideline, WHOLE) if guideline == FEWER else (WHOLE, guideline)
    pairs = [(each[first], each[second]) for each in launches if each.keys() >= {first, second}]
    if len(pairs) < 2:
        return None
    logs = [math.log(one / other) for one, other in pairs]
    mean = trimmed_mean(logs, LEAST_SPREAD)
    width = student_quantile((1 + CONFIDENCE) / 2, mean.freedom) * mean.error
    return GuidelineRow(
        cell=cell.id, collective=str(cell.parameters["collective"]), guideline=guideline, nodes=cell.nodes,
        ranks=cell.ranks, bytes=split_op(call)[1] or 0, launches=len(logs), seconds=median(one for one, _ in pairs),
        rival_s=median(other for _, other in pairs), factor=math.exp(mean.value), low=math.exp(mean.value - width),
        high=math.exp(mean.value + width), chance=paired_test(mean, math.log(MATTERS)), violated=False,
    )  # fmt: skip
