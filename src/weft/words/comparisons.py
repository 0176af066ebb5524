# SPDX-License-Identifier: BSD-3-Clause
"""Comparisons of runs in words: which is slower, by how much and where; numbers put in; gates."""

from collections.abc import Mapping
from typing import Any

from weft.analyse.compare.claims import Each, describe_place
from weft.analyse.compare.sides import Key
from weft.analyse.tables.claims import INCONCLUSIVE, ClaimRow
from weft.format import format_bytes, measured_factor, plural, times_text
from weft.words import Said, factor_text, name_call, span
from weft.words.answers import number_text

LABELS = {
    "slower": "Slower", "faster": "Faster", "mixed": "Slower and faster", "no-difference": "No difference shown",
    "predicted": "Predicted", INCONCLUSIVE: "Inconclusive",
}  # fmt: skip
MOST_COUNTS = 7  # more process counts than these are not listed


def say(claim: ClaimRow, name: str, more: dict[str, Any]) -> Said:
    """``MPI_Alltoallv(m-vector) warm: 1.25x slower (95 % 1.20–1.31)   10 of 30 rows slower, 20 without difference``."""
    unmatched = f"{plural(more['unmatched'], 'row')} in one run only" if more["unmatched"] else ""
    if claim["next"]:  # too few launches
        return LABELS[name], more["why"], unmatched, claim["next"]
    return LABELS[name], _said(claim, more), "; ".join(filter(None, (_counts(more), unmatched)))


def say_ratio(claim: ClaimRow, name: str, more: dict[str, Any]) -> Said:
    """``MPI_Alltoallv(m-vector) warm, N = 4, p = 16: 1.25x slower (1.20–1.31)``."""
    return LABELS[name], _said(claim, more), more.get("why", "")


def _said(claim: ClaimRow, more: Mapping[str, Any]) -> str:
    coverage = claim["coverage"] if claim["kind"] == "answer" else None
    mean = mean_text(more["where"])
    return f"{place_text(more['where'])}: {factor_text(*span(claim), coverage)}{f', {mean}' if mean else ''}"


def _counts(more: Mapping[str, Any]) -> str:
    """How many rows differ; of models, what takes the place of a test."""
    if "smallest" in more:
        text = f"{times_text(None, more['smallest'], more['largest'])} over {plural(more['rows'], 'row')}, no test"
        text += f"; ranges of what the model leaves out: {more['left_out']}" if more.get("left_out") else ""
        return text + (f"; {more['turned']:,} inconclusive" if more["turned"] else "")
    counted = [f"{more[word]:,} {word}" for word in ("slower", "faster") if more[word]] or ["none differs"]
    counted += [f"{more['same']:,} without a shown difference"] if more["same"] < more["rows"] and more["same"] else []
    counted += [f"{more['few']:,} with too few launches"] if more["few"] else []
    return f"of {plural(more['rows'], 'row')}: {', '.join(counted)}"


def say_assumed(claim: ClaimRow, name: str, more: dict[str, Any]) -> Said:
    """``network.latency 50 us against 5.45 us``."""
    known, unit = (more.get("base"), more.get("other")), more.get("number_unit", "")
    one, other = ("none" if value is None else number_text(value, unit) for value in known)
    held = f"only {plural(digits, 'digit')}" if (digits := more.get("digits")) else "no digit"
    note = "the ratios follow from it" if digits is None else f"{held} of the ratio is independent of it"
    return "Assumed", f"{claim['subject']} {one} against {other}", note


def say_gate(claim: ClaimRow, name: str, more: dict[str, Any]) -> Said:
    """``failed: 3 rows or summaries, at most 1.25x slower (1.20–1.31) in ...``."""
    label = f"Gate {claim['subject']}"
    if more.get("missing"):
        return label, f"{name}: {plural(more['missing'], 'row')} of the base not measured"
    if more.get("count"):
        worst = f"{more['other']}, {_said(claim, more)}"
        return label, f"{name} in {plural(more['count'], 'row')} or summaries", f"most: {worst}"
    return label, name, more.get("why", "")


def place_text(where: Mapping[str, Any]) -> str:
    """A row or summary: ``MPI_Alltoall(int) warm, N = 4, p = 16, 1 KiB``."""
    words = [f"{name_call(where['operation'])} {where['phase']}"]
    words += [f"N = {where['nodes']}, p = {where['ranks']}"] if where["ranks"] is not None else []
    words += [format_bytes(where["bytes"])] if where.get("bytes") is not None else []
    words += [f"m = {where['m']:,}"] if where.get("m") is not None else []
    return ", ".join(words)


SAID = {"compare": say, "ratio": say_ratio, "assumed": say_assumed, "gate": say_gate}
"""First part of an id to the function that says such claims."""


def name_place(each: Each | Key) -> str:
    """The identity of a row or summary (`place_text`)."""
    return place_text(describe_place(each))


def mean_text(where: Mapping[str, Any]) -> str:
    """What a summary averages: ``geometric mean of 11 sizes, p = 4, 8``; empty of a row."""
    if "mean" not in where:
        return ""
    text, counts = f"geometric mean of {plural(where['mean'], where['noun'])}", where["counts"]
    return f"{text}, p = {', '.join(map(str, counts))}" if counts and len(counts) <= MOST_COUNTS else text


def ratio_text(found: Any) -> str:
    """The ratio of some evidence with its interval: ``1.25 (1.20–1.31)``."""
    return measured_factor(found.ratio, found.low, found.high)
