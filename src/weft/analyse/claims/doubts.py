# SPDX-License-Identifier: BSD-3-Clause
"""The doubts about a run as claims, and the command that would settle each."""

from collections.abc import Mapping

from weft.analyse.claims.known import Known
from weft.analyse.quality import doubt_model
from weft.analyse.tables.claims import ClaimRow, make_claim
from weft.analyse.tables.quality import Doubt, QualityRow
from weft.fabric.model import Fabric

#: Claims of doubts by the doubt.
IDS: Mapping[Doubt, str] = {
    "launches": "launches.vary", "precision": "launches.wide", "steal": "host.steal", "load": "host.load",
    "lost": "host.lost-time", "swap": "host.swap", "core": "host.shared-core", "host": "host.shared-host",
    "oversubscribed": "host.oversubscribed", "kernel": "host.kernel", "floor": "times.below-floor",
    "bound": "times.below-bound", "wrong": "times.contradict", "failed": "cells.failed", "model": "model.unfitted",
    "fitted": "model.fitted", "latency": "model.latency", "trace": "trace.doubted",
}  # fmt: skip


def find_claims(known: Known) -> list[ClaimRow]:
    """A claim for each doubt, the most severe first."""
    return [_doubt(known, index, row) for index, row in enumerate(known.quality)]


def find_model_doubt(fabric: Fabric) -> ClaimRow | None:
    """What a prediction for a simulated machine is worth, by what was fitted to it; None of a real machine."""
    row = doubt_model(fabric) if fabric.is_model else None
    return claim_doubt(row) if row else None


def _doubt(known: Known, index: int, row: QualityRow) -> ClaimRow:
    return claim_doubt(row, _next(known, row), f"quality:{index}")


def claim_doubt(row: QualityRow, following: str = "", evidence: str = "") -> ClaimRow:
    """A doubt as a claim, with the command that would settle it."""
    return make_claim(
        f"{IDS[row['doubt']]}", "doubt", row["doubt"], row["share"], "share", confidence=row["grade"],
        next=following, evidence=[evidence] if evidence else [], count=row["count"], of=row["of"], worst=row["worst"],
        noun=row["noun"], turns=row["turns"],
    )  # fmt: skip


def _next(known: Known, row: QualityRow) -> str:
    if row["doubt"] in ("launches", "precision"):
        return known.again("--launches", str(row["launches"] or 10))
    if row["doubt"] in ("load", "steal", "lost"):
        return known.again("--launches", str(row["launches"] or 10), "--wait")
    if row["doubt"] in ("failed", "swap"):
        return known.again()
    return "weft fabric fit --help" if row["doubt"] == "model" else ""
