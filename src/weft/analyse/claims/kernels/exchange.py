# SPDX-License-Identifier: BSD-3-Clause
"""Whether the network limits an all-to-all: its answer, where the time goes, and each step to more nodes."""

from weft.analyse.claims.make import Known
from weft.analyse.tables.answers import FEWEST_LAUNCHES, VerdictRow, answer_of, by_weight, main_verdict
from weft.analyse.tables.breakdown import CauseRow
from weft.analyse.tables.claims import INCONCLUSIVE, ClaimRow, make_claim
from weft.analyse.tables.times import holding_bound_s
from weft.bound.terms import COPY, INJECTION, LINK, PER_MESSAGE

NETWORK, MEMORY, MESSAGES, FREE = "network-bound", "memory-bound", "message-bound", "not-network-bound"


def find_claims(known: Known) -> list[ClaimRow]:
    """The answer on the main series, the others, the bottleneck at its end, and its steps."""
    main = main_verdict(known.verdicts)
    if main is None:
        rows = by_weight(known.verdicts)
        return [*(_of_series(known, row, f"contention.{INCONCLUSIVE}") for row in rows[:1]), *_others(known, rows[1:])]
    cause = next((row for row in known.causes if row["cell"] == main["cell"]), None)
    answer = _of_series(known, main, f"contention.{limit_of(main, cause)}")
    others = _others(known, [row for row in known.verdicts if row is not main])
    return [answer, *others, *_dependences(known), *find_bottleneck(known, main["cell"], main["call"]), *_steps(main)]


def limit_of(verdict: VerdictRow, cause: CauseRow | None) -> str:
    """What limits a series: the last part of the answer's id."""
    answer = answer_of(verdict)
    if answer in ("undecided", "no verdict"):
        return INCONCLUSIVE
    scales = answer == "falls" if verdict["kind"] == "strong" else answer != "rises"
    # ranks of one node never reach the network
    return FREE if scales else _part_of(cause, NETWORK if verdict["axis"] == "nodes" else FREE)


def _part_of(cause: CauseRow | None, between: str) -> str:
    if cause is None or cause["kind"] == "unknown":
        return between
    if cause["kind"] == "messages" or cause["name"] in PER_MESSAGE:
        return MESSAGES
    if cause["kind"] in ("algorithm", "arrival"):
        return FREE
    if cause["kind"] == "contention":
        return NETWORK if cause["nodes"] > 1 else MEMORY
    if cause["kind"] == "link" or cause["name"] == INJECTION or cause["name"].startswith(LINK):
        return NETWORK
    return MEMORY if cause["name"] == COPY else between


def _of_series(known: Known, row: VerdictRow, id: str) -> ClaimRow:
    last = {each["cell"]: each for each in known.warm if each["call"] == row["call"]}.get(row["cell"])
    few = row["outcome"] == "no verdict" and row["factor"] is not None
    return make_claim(
        id, "answer", f"{row['kind']} scaling", row["factor"], "factor", (row["low"], row["high"]),
        coverage=last["coverage"] if last else None, at=row,
        evidence=[f"verdicts:{known.verdicts.index(row)}"], series=row["series"], start=row["start"], end=row["end"],
        axis=row["axis"], answer=answer_of(row), left_out=row["left_out"], fastest=row["fastest"],
        launches=last["launches"] if last else None, least=row["allowed_low"], most=row["allowed_high"],
        next=known.again("--launches", str(FEWEST_LAUNCHES)) if few else "", confidence="C" if few else "A",
    )  # fmt: skip


def _others(known: Known, rows: list[VerdictRow]) -> list[ClaimRow]:
    return [_of_series(known, row, f"scaling.{row['kind']}") for row in rows if row["factor"] is not None]


def find_bottleneck(known: Known, cell: str, call: str) -> list[ClaimRow]:
    """What most of the time of a cell's main call goes to, beside its nearest bound."""
    cause = next((row for row in known.causes if (row["cell"], row["call"]) == (cell, call)), None)
    row = next((row for row in known.warm if (row["cell"], row["call"]) == (cell, call)), None)
    if cause is None or row is None:
        return []
    name = cause["name"] or (row["bound"] if cause["kind"] == "unknown" else "")
    id = cause["kind"]
    if id not in ("messages", "contention", "algorithm", "arrival", "unknown"):
        named = {INJECTION: "adapter", COPY: "memory", **dict.fromkeys(PER_MESSAGE, "messages")}
        id = named.get(cause["name"]) or ("uplink" if cause["name"].endswith((" up", " down")) else "link")
    return [make_claim(
        f"bottleneck.{id}", "breakdown", name, cause["share"], "share", bound=holding_bound_s(row),
        at=row, evidence=[f"causes:{known.causes.index(cause)}"], seconds=row["median_s"], limit=row["bound"],
        of=cause["kind"], nodes=row["nodes"], ranks=row["ranks"],
        basis="simulated" if known.plan.is_model else "measured",
    )]  # fmt: skip


def _steps(row: VerdictRow) -> list[ClaimRow]:
    steps = (
        (1, row["off_end"], row["off_factor"], (row["off_low"], row["off_high"])),
        (row["off_end"], row["end"], row["beyond_factor"], (row["beyond_low"], row["beyond_high"])),
    )
    return [
        make_claim(
            f"step.{start}-{end}-nodes", "breakdown", row["series"], factor, "factor", ends, at=row, start=start,
            end=end,
        )
        for start, end, factor, ends in steps
        if factor is not None
    ]  # fmt: skip


def _dependences(known: Known) -> list[ClaimRow]:
    """Each number of a simulated machine whose plausible values turn a verdict."""
    return [
        make_claim(
            "depends.number", "breakdown", row["key"], row["value"], "", (row["low"], row["high"]), confidence="B",
            evidence=[f"sensitivity:{index}"], number_unit=row["unit"], standing=row["standing"],
            flips_at=row["flips_at"], becomes=row["becomes"], verdict=row["verdict"], series=row["series"],
            given=row["given_key"], given_value=row["given_value"], given_unit=row["given_unit"],
        )
        for index, row in enumerate(known.sensitivity)
        if row["flips"]
    ]  # fmt: skip
