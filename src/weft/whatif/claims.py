# SPDX-License-Identifier: BSD-3-Clause
"""What alternatives of a machine may claim: which helps most, what no network could improve on, what to try."""

import shlex
from typing import Any

from weft.analyse.claims.gate import judge
from weft.analyse.claims.make import claim_doubt
from weft.analyse.tables.claims import INCONCLUSIVE, ClaimRow, make_claim
from weft.whatif.side_by_side import Outcome, SideBySide

#: Differences below this are called none: a model's own roundness, and the drawing of rounds.
LEAST = 0.02
#: The command that follows an alternative which helps, by its name.
NEXT = {
    "placement": "weft place {fabric} --nodes {nodes} --traffic {trace}",
    "all-to-all": 'weft exec --force "{alltoall}" -- mpirun -n {ranks} ./application',
    "tables": "weft route fix {fabric}",
}


def make_claims(found: SideBySide, trace: str) -> list[ClaimRow]:
    """The claims of a question, through the gate of the doubts about its trace and machine."""
    doubts = [claim_doubt(row) for row in found.doubts]
    unchanged = found.outcomes[0].simulated_s
    if found.nothing_played or not unchanged or not found.simulated:
        reason = "nothing-replayed" if found.nothing_played else "not-simulated"
        return judge([make_claim("whatif.untimed", "answer", reason=reason), *doubts], found.doubts)
    best = min(found.simulated, key=lambda each: each.seconds)
    helps = best.seconds <= (1 - LEAST) * unchanged
    others = [each for each in sorted(found.simulated, key=lambda each: each.seconds) if each is not best or not helps]
    return judge(
        [
            _answer(found, best, helps=helps), *_bottleneck(found, unchanged),
            *(_alternative(found.outcomes[0], each) for each in others), *_no_network(found, unchanged),
            *_remedies(found, best, trace, helps=helps), *doubts,
        ],
        found.doubts,
    )  # fmt: skip


def _answer(found: SideBySide, best: Outcome, *, helps: bool) -> ClaimRow:
    unchanged = found.outcomes[0]
    tried: dict[str, Any] = {"simulated": len(found.simulated), "of": len(found.outcomes) - 1}
    if not helps:
        return make_claim("whatif.nothing-helps", "answer", least_share=LEAST, **tried)
    equal = [each for each in found.simulated if each.seconds <= (1 + LEAST) * best.seconds]
    subject = " or ".join(each.variant.words for each in equal)
    then, now = _ranges(unchanged, best)
    overlaps = now[1] > then[0]
    name = INCONCLUSIVE if overlaps else "helps"
    return make_claim(
        f"whatif.{name}", "answer", subject, best.seconds / unchanged.seconds, "factor", _range(unchanged, best),
        seconds=best.seconds, overlaps=overlaps, **tried,
    )  # fmt: skip


def _bottleneck(found: SideBySide, unchanged: float) -> list[ClaimRow]:
    bound = max(found.outcomes[0].bound_s, found.least)
    name = "computation" if found.least >= bound else "fullest link"
    claim = make_claim(
        "bottleneck.bound", "breakdown", name, bound=bound, seconds=unchanged, limit=name, of="bound", basis="simulated"
    )
    return [claim] if bound > 0 else []


def _no_network(found: SideBySide, unchanged: float) -> list[ClaimRow]:
    """What no network could improve on: the busiest rank's computation."""
    value = found.least / unchanged
    claim = make_claim("alternative.no-network", "breakdown", "no network at all", value, "factor", seconds=found.least)
    return [claim] if found.least > 0 else []


def _range(unchanged: Outcome, other: Outcome) -> tuple[float | None, float | None]:
    """The range of a ratio of two times that have ranges; none of times that have none."""
    (low, high), (low_then, high_then) = _ranges(unchanged, other)
    if low == high and low_then == high_then:
        return None, None
    return low_then / high, high_then / low if low > 0 else None


def _ranges(unchanged: Outcome, other: Outcome) -> tuple[tuple[float, float], tuple[float, float]]:
    """The ranges of two times, in s; of an unfitted machine without that of its numbers: their error is in both."""
    if unchanged.own_s is not None and other.own_s is not None:
        return unchanged.own_s, other.own_s
    return unchanged.range_s, other.range_s


def _alternative(unchanged: Outcome, other: Outcome) -> ClaimRow:
    return make_claim(
        f"alternative.{other.variant.name}", "breakdown", other.variant.words, other.seconds / unchanged.seconds,
        "factor", _range(unchanged, other), seconds=other.seconds, level=other.level.name,
    )  # fmt: skip


def _remedies(found: SideBySide, best: Outcome, trace: str, *, helps: bool) -> list[ClaimRow]:
    if not helps:
        return [make_claim("remedy.faster-processors", "remedy")]
    asked = best.variant.asked
    words = {
        "fabric": shlex.quote(found.on or found.fabric), "nodes": asked.nodes, "trace": shlex.quote(trace),
        "alltoall": asked.alltoall, "ranks": found.ranks,
    }  # fmt: skip
    saved = 1 - best.seconds / found.outcomes[0].seconds
    following = NEXT.get(best.variant.name, "").format(**words)
    return [
        make_claim(
            f"remedy.whatif-{best.variant.name}", "remedy", best.variant.words, saved, "share", next=following,
            basis="simulated",
        )
    ]  # fmt: skip
