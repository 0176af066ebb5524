# SPDX-License-Identifier: BSD-3-Clause
"""How long a traced application takes here, beside what it took there, and in what."""

from weft.analyse.claims.kernels.exchange import find_bottleneck
from weft.analyse.claims.make import Known
from weft.analyse.tables.claims import ClaimRow, make_claim
from weft.analyse.tables.times import TimedRow

MOST = 0.5  # from this share of the time on, computation is what most of it goes to


def find_claims(known: Known) -> list[ClaimRow]:
    """The fastest replay over the traced time, the slowest, what is computing, and what to try."""
    rows = known.warm
    fastest = min(rows, key=lambda row: row["median_s"], default=None)
    if fastest is None:
        return [make_claim("replay.untimed", "answer")]
    answer = _time(known, "replay.time", fastest)
    slowest = max(rows, key=lambda row: row["median_s"])
    others = [_time(known, "replay.slowest", slowest)] if slowest is not fastest else []
    values = known.plan.cell(fastest["cell"]).parameters
    computed = values["computed_ns"] / 1e9 * values["compute"]
    there = (values["traced_ns"] - values["computed_ns"]) / 1e9
    here = max(fastest["median_s"] - computed, 0.0)
    part, cell = here / fastest["median_s"], fastest["cell"]
    share = make_claim("pace.calls", "breakdown", "", part, "share", cell=cell, seconds=here, there=there)
    name, following = "whatif", "weft whatif TRACE --on FABRIC"
    if computed > MOST * fastest["median_s"]:
        name, following = "faster-processors", "weft replay TRACE --compute 0.5"
    helps = make_claim(f"remedy.{name}", "remedy", cell=cell, next=following)
    links = find_bottleneck(known, cell, fastest["call"]) if known.bottlenecks else []
    return [answer, *others, share, *links, helps]


def _time(known: Known, id: str, row: TimedRow) -> ClaimRow:
    traced = known.plan.cell(row["cell"]).parameters["traced_ns"] / 1e9
    ends = [None if each is None else each / traced for each in (row["low_s"], row["high_s"])]
    return make_claim(
        id, "answer", "", row["median_s"] / traced, "factor", (ends[0], ends[1]), coverage=row["coverage"], at=row,
        seconds=row["median_s"], traced=traced, nodes=row["nodes"], ranks=row["ranks"],
    )  # fmt: skip
