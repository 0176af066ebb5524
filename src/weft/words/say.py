# SPDX-License-Identifier: BSD-3-Clause
"""The words of any claim, by its kind and the first part of its id."""

from weft.analyse.tables.claims import ClaimRow, extras
from weft.words import answers, breakdown, checks, doubts, interference, sweeps, traces
from weft.words.row import Row

#: First part of an id to the function that says such claims, from the rest of it and their extras.
FAMILIES = {
    "check": checks.say, "audit": checks.say_audit, "start": checks.say_start, "counted": checks.say_counted,
    "contention": answers.say, "scaling": answers.say, "plain": answers.say_plain,
    "bottleneck": breakdown.say_bottleneck,
    "step": breakdown.say_step, "breakdown": breakdown.say_part, "latency": checks.say_latency,
    "outlier": checks.say_pair_outlier, "pairs": checks.say_pairs,
    "remedy": breakdown.say_remedy, "finding": doubts.say_finding,
    "collective": sweeps.say_collective, "auto": sweeps.say_auto, "overlap": sweeps.say_overlap,
    "bandwidth": sweeps.say_rate, "rate": sweeps.say_rate,
    "threshold": sweeps.say_threshold, "probe": sweeps.say_probe, "pace": sweeps.say_pace, "replay": sweeps.say_replay,
    "depends": answers.say_dependence, "whatif": traces.say_whatif, "alternative": traces.say_alternative,
    "interference": interference.say, "shared": interference.say_shared,
    "trace": traces.say, "share": traces.say_share, "failure": traces.say_failure,
}  # fmt: skip
#: Why a claim has no value, by the reason that it states or its family.
UNTIMED = {
    "nothing-replayed": "the trace has no call that is replayed",
    "not-simulated": "the unchanged machine, or every alternative, has no simulated time",
    "replay": "no replay has a time", "trace": "no MPI call was recorded",
}  # fmt: skip


def say(claim: ClaimRow) -> Row:
    """Label, value and note of a claim."""
    family, _, name = claim["id"].partition(".")
    if claim["kind"] == "doubt":
        return doubts.say(claim)
    more = extras(claim)
    if name == "untimed":
        return Row(claim["id"], "Inconclusive", UNTIMED.get(more.get("reason", family), "no time was measured"))
    if family in FAMILIES:
        return Row(claim["id"], *FAMILIES[family](claim, name, more))
    from weft.words.comparisons import SAID  # imports what compares runs, which a single run does not need

    return Row(claim["id"], *SAID[family](claim, name, more))
