# SPDX-License-Identifier: BSD-3-Clause
"""Writing the claims of a run, the last step of its analysis."""

from collections.abc import Sequence
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

from weft.analyse.claims import breakdown, doubts, findings, remedies
from weft.analyse.claims.gate import judge
from weft.analyse.claims.known import Known
from weft.analyse.tables.claims import CLAIMS, ClaimRow, claims_of
from weft.analyse.tables.times import CallRow
from weft.plan.records import Plan

KERNELS = "weft.analyse.claims.kernels"


def write_claims(path: Path, plan: Plan, rows: Sequence[CallRow]) -> None:
    """Make the claims of a run from its other tables and write them.

    Raises DataError: A table is missing, or this one cannot be written.
    """
    CLAIMS.write(path, make_claims(Known(path, plan, rows)))


def make_claims(known: Known) -> list[ClaimRow]:
    """The claims of a run in the order of the card: answers, breakdown, remedies, findings, doubts."""
    own = f"{KERNELS}.{known.plan.kernel}"
    kernel = import_module(own if find_spec(own) else f"{KERNELS}.plain")
    answers: list[ClaimRow] = kernel.find_claims(known)
    first = next(iter(claims_of(answers, "answer")), None)
    cell, call = (first["cell"], first["call"]) if first else ("", "")
    helps = remedies.find_claims(known, cell, call)
    return judge(
        [*answers, *breakdown.find_claims(known), *helps, *findings.find_claims(known), *doubts.find_claims(known)],
        known.quality,
    )
