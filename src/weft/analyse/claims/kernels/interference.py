# SPDX-License-Identifier: BSD-3-Clause
"""Which call another job slows most, on which cable, what the model predicts, and what leaves of its own save."""

import json
from collections.abc import Sequence
from typing import Any

from weft.analyse.claims.known import Known
from weft.analyse.statistics.significance import FAMILY
from weft.analyse.tables.answers import FEWEST_LAUNCHES, IMPACTS, MATTERS, ImpactRow
from weft.analyse.tables.claims import INCONCLUSIVE, ClaimKind, ClaimRow, make_claim
from weft.store.rows import LAUNCH_TABLE

REPEATED = (
    "aggressor", "percent", "place", "bytes", "nodes", "beside_nodes", "launches", "link", "predicted", "p95",
    "p95_low", "p95_high", "p99", "p99_low", "p99_high",
)  # fmt: skip
WINDOWS = ("btl_tcp_rcvbuf", "OMPI_MCA_btl_tcp_rcvbuf")  # settings of Open MPI: bytes of a receive window, 0 for any
MOST_CHECKED = 98_304  # bytes: the largest window with which predictions were held against measurements


def find_claims(known: Known) -> list[ClaimRow]:
    """The worst impact and its cable, the same call where no cable is shared, and what to ask for."""
    rows = IMPACTS.read(known.path)
    if not rows:
        return [make_claim("interference.untimed", "answer")]
    worst = max(rows, key=lambda row: (_is_slowed(row), row["factor"]))
    launches = min(row["launches"] for row in rows)
    if launches < FEWEST_LAUNCHES and not known.plan.is_model:
        again = known.again("--launches", str(FEWEST_LAUNCHES))
        return [_impact(rows, worst, INCONCLUSIVE, "answer", next=again, confidence="C"), *_shared(known, rows, worst)]
    if _is_slowed(worst):
        answer = _impact(rows, worst, "slowed", "answer")
        return [answer, *_shared(known, rows, worst), *_remedy(known, rows, worst)]
    widest = max(rows, key=_most)
    missing, wide = sum(row["status"] != "ok" for row in known.rows), _most(widest) > MATTERS
    if not (wide or missing):
        return [_impact(rows, worst, "clear", "answer"), *_shared(known, rows, worst)]
    again = known.again("--launches", str(2 * launches))
    answer = _impact(rows, widest, INCONCLUSIVE, "answer", next=again, missing=missing, wide=wide)
    return [answer, *_shared(known, rows, widest)]


def _is_slowed(row: ImpactRow) -> bool:
    """Whether the call is slower beside the traffic, beyond what is the worst of so many rows by chance."""
    return row["factor"] > MATTERS and (row["chance"] is None or row["chance"] <= FAMILY)


def _least(row: ImpactRow) -> float:
    return row["factor"] if row["low"] is None else row["low"]


def _most(row: ImpactRow) -> float:
    return row["factor"] if row["high"] is None else row["high"]


def _impact(rows: Sequence[ImpactRow], row: ImpactRow, name: str, kind: ClaimKind, **more: Any) -> ClaimRow:
    family = "interference" if kind == "answer" else "shared"
    return make_claim(
        f"{family}.{name}", kind, row["victim"], row["factor"], "factor", (row["low"], row["high"]),
        coverage=row["coverage"], at=row, evidence=[f"impacts:{rows.index(row)}"],
        shares=row["link"] != "", **{key: row[key] for key in REPEATED}, **more,  # pyrefly: ignore[bad-argument-type]
    )  # fmt: skip


def _shared(known: Known, rows: Sequence[ImpactRow], worst: ImpactRow) -> list[ClaimRow]:
    """The cable of the worst impact with its predicted factor, the tail, the strength it begins at, and the rest."""
    strengths = [row for row in rows if (row["cell"], row["aggressor"]) == (worst["cell"], worst["aggressor"])]
    begins = [row for row in strengths if _is_slowed(row) and len(strengths) > 1]
    of = {
        "link": worst if worst["link"] else None,
        "tail": worst if worst["p95"] is not None else None,
        "apart": _apart(rows, worst) if worst["link"] else None,
        "bend": min(begins, key=lambda row: row["percent"], default=None),
    }
    more: dict[str, Any] = {"strengths": [row["percent"] for row in strengths], "unchecked": _unchecked(known)}
    return [_impact(rows, row, name, "breakdown", **more) for name, row in of.items() if row]


def _unchecked(known: Known) -> str:
    """Why a prediction was never held against a measurement like this one; empty where it was."""
    if known.plan.is_model:
        return ""
    if not known.plan.planned_fabric.is_emulated:
        return "network"
    settings: list[dict[str, str]] = [json.loads(row["settings"]) for row in LAUNCH_TABLE.read(known.path)]
    windows = [next((each[name] for name in WINDOWS if name in each), "") for each in settings]
    bounded = [each.isdecimal() and 0 < int(each) <= MOST_CHECKED for each in windows]
    return "" if bounded and all(bounded) else "windows"


def _apart(rows: Sequence[ImpactRow], worst: ImpactRow) -> ImpactRow | None:
    """The worst of the same call beside the same traffic where as large jobs share no cable; None without any."""
    alike = ("victim", "aggressor", "percent", "bytes", "nodes", "ranks", "beside_nodes")
    same = [row for row in rows if row["link"] == "" and all(row[key] == worst[key] for key in alike)]
    return max(same, key=lambda row: row["factor"], default=None)


def _remedy(known: Known, rows: Sequence[ImpactRow], worst: ImpactRow) -> list[ClaimRow]:
    """Nodes that share no cable with the other job, if those were measured, too: found by `weft place`."""
    apart = _apart(rows, worst)
    if not worst["link"] or apart is None or _most(apart) >= _least(worst):
        return []
    cell = known.plan.cell(worst["cell"])
    others = sorted(set(cell.launched.hosts) - set(cell.hosts))
    return [make_claim(
        "remedy.whole-leaves", "remedy", value=1 - apart["factor"] / worst["factor"], unit="share", at=worst,
        basis="measured", next=f"weft place {{run}}/fabric.toml --nodes {worst['nodes']} --beside {','.join(others)}",
    )]  # fmt: skip
