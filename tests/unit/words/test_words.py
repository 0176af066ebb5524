# SPDX-License-Identifier: BSD-3-Clause
"""The wording of each kind of claim: the only tests that hold phrases."""

from typing import Any

import pytest

from weft.analyse.claims.make import IDS, judge
from weft.analyse.tables.claims import ClaimRow, QualityRow, make_claim
from weft.analyse.trace.claims import RULES as TRACE_RULES
from weft.words.card import TEXTS, card_rows, say

SERIES: dict[str, Any] = {"series": "constant-local", "start": 1, "end": 4, "axis": "nodes", "answer": "rises"}
ANSWER = make_claim(
    "contention.network-bound", "answer", "weak scaling", 248.3, "factor", (216.2, 288.1), coverage=0.95, **SERIES
)
BOTTLENECK = make_claim(
    "bottleneck.uplink", "breakdown", "link leaf0 up", 0.79, "share", bound=0.343, seconds=0.4, limit="link leaf0 up",
    of="link", nodes=4, ranks=8,
)  # fmt: skip
STEP = make_claim("step.1-2-nodes", "breakdown", "", 122.0, "factor", (100.0, 149.0), start=1, end=2)
REMEDY = make_claim(
    "remedy.second-cable", "remedy", "leaf0 up", 0.36, "share", bound=0.144, floor_s=0.2, floor="injection",
    basis="only bounded",
)  # fmt: skip
DOUBT = make_claim(
    "launches.vary", "doubt", "launches", 0.67, "share", confidence="B", count=10, of=15, noun="rows", worst=2.5,
    next="weft run contention --on virtual-default --launches 10",
)  # fmt: skip
WORDS: list[tuple[ClaimRow, str, str]] = [
    (ANSWER, "Network-bound", "weak scaling, 1 -> 4 nodes: 248x slower (95 % 216–288)"),
    (BOTTLENECK, "Bottleneck", "uplink of leaf0: 79 % busy; bound 343 ms of 400 ms measured (86 %)"),
    (STEP, "1 -> 2 nodes", "122x (100–149)"),
    (REMEDY, "Try", "a second cable for the uplink of leaf0: saves at most 36 %"),
    (DOUBT, "B", "launch medians vary by more than 25 % in 10 of 15 rows, at most 2.50x"),
    (
        make_claim("breakdown.messages", "breakdown", "", 1.12, "factor", (1.08, 1.16), seconds=1.0, effect="adds"),
        "messages", "+12 % (+8 to +16)",
    ),
    (
        make_claim("breakdown.contention", "breakdown", "", 0.97, "factor", (0.94, 1.01), seconds=1.0, effect="none"),
        "contention", "none detected",
    ),
    (
        make_claim(
            "breakdown.algorithm", "breakdown", "", 0.786, "factor", (0.735, 1.115), seconds=1.0, effect="unsure"
        ),
        "algorithm", "inconclusive, 0.786x (0.735–1.115)",
    ),
    (
        make_claim(
            "outlier.cable", "answer", "leaf2 - spine0", 4.64, "factor", bytes=1 << 20, mode="isolated", role="",
            affected=24, ways=2, detail="in both directions", also=[],
        ),
        "Slow cable", "leaf2 - spine0: 4.64x slower (1 MiB, one pair at a time and 1 other way; 24 pairs)",
    ),
    (
        make_claim("pairs.no-outlier", "answer", pairs=240, ranks=16, nodes=8),
        "No outlier", "240 pairs of 16 ranks on 8 nodes",
    ),
    (
        make_claim("latency.2-hops", "breakdown", "2 hops", 1.31e-6, "seconds", bytes=8, mode="all"),
        "2 hops", "1.31 us",
    ),
    (
        make_claim(
            "collective.faster-algorithm", "answer", "pairwise", 2.8, "factor", (2.1, 3.4), name="MPI_Alltoall",
            first=64, last=4096, bytes=1024, nodes=1, ranks=4, beaten=7, of=21,
        ),
        "Faster algorithm", "pairwise for MPI_Alltoall, 64 B to 4 KiB (1 node, 4 ranks): 2.80x faster (2.10–3.40)",
    ),
    (
        make_claim(
            "collective.above-bound", "answer", "MPI_Bcast", 14.3, "factor", (14.2, 18.9), bound=2.76e-7, bytes=16384,
            seconds=3.94e-6, nodes=1, ranks=2,
        ),
        "Above its bound", "MPI_Bcast, 16 KiB, 1 node, 2 ranks: 14.3x (14.2–18.9) its bound",
    ),
    (
        make_claim(
            "collective.imbalance", "breakdown", "", 0.0283, "seconds", limit="injection", seconds=0.041, even=0.0163
        ),
        "Imbalance", "28.3 ms of 41 ms (injection); 16.3 ms if all blocks were alike",
    ),
    (
        make_claim("bandwidth.rate", "answer", "inter-node", 6.1e9, "rate", (5.9e9, 6.3e9), bytes=1 << 20),
        "Bandwidth", "6.10 GB/s (5.90–6.30) inter-node, messages of 1 MiB",
    ),
    (
        make_claim(
            "threshold.eager-limit", "breakdown", "inter-node", 2.0, "factor", lower=2048, upper=4096, refuted=[],
            knobs={"btl_tcp_eager_limit": 4096},
        ),
        "Eager limit", "2 KiB to 4 KiB (inter-node): perhaps btl_tcp_eager_limit (4 KiB)",
    ),
    (
        make_claim("probe.latency", "answer", "", 1.31e-6, "seconds", (1.28e-6, 1.35e-6), bytes=8, nodes=2),
        "Latency", "1.31 us (1.28–1.35) one way, 8 B, 2 nodes",
    ),
    (make_claim("pace.alone", "breakdown", "", 2e-7, "seconds", messages=64), "Message pace",
     "200 ns each, 64 messages back to back"),
    (
        make_claim("replay.time", "answer", "", 0.244, "factor", (0.23, 0.26), seconds=2.4, traced=10.0, nodes=4),
        "Replay", "4.10x faster (3.85–4.35) than traced",
    ),
    (
        make_claim(
            "depends.number", "breakdown", "network.overhead", 165e-6, "", (16.5e-6, 1.65e-3), number_unit="s",
            standing="assumed", flips_at=18e-6, becomes="still scales at N = 36",
        ),
        "Depends on", "network.overhead = 165 us (assumed, 16.5 us to 1.65 ms)",
    ),
    (make_claim("finding.wide", "finding", "A warm, N = 2", 13, "count", level="warning", what="w", remedy="r"),
     "warning", "A warm, N = 2: w (and 12 others)"),
    (
        make_claim(
            "compare.slower", "answer", "b against a", 1.25, "factor", (1.2, 1.31), coverage=0.95, rows=30, slower=10,
            faster=0, same=20, few=0, unmatched=2,
            where={"operation": "C", "phase": "warm", "ranks": None, "mean": 5, "noun": "row", "counts": [4, 8]},
        ),
        "Slower", "MPI_Alltoallv(m-vector) warm: 1.25x slower (95 % 1.20–1.31), geometric mean of 5 rows, p = 4, 8",
    ),
    (
        make_claim(
            "ratio.no-difference", "breakdown", "b against a", 1.01, "factor", (0.97, 1.05),
            where={"operation": "alltoall", "phase": "warm", "nodes": 4, "ranks": 16, "bytes": 1024},
        ),
        "No difference shown", "alltoall warm, N = 4, p = 16, 1 KiB: 1.01x (0.97–1.05)",
    ),
    (
        make_claim("assumed.number", "breakdown", "network.latency", base=5e-5, other=5.45e-6, number_unit="s"),
        "Assumed", "network.latency 50 us against 5.45 us",
    ),
    (make_claim("gate.failed", "answer", "missing", missing=6),
     "Gate missing", "failed: 6 rows of the base not measured"),
    (
        make_claim("trace.waiting", "answer", "", 0.41, "share", ranks=4, nodes=2, seconds=1.2, what="waiting"),
        "Waiting for others", "41 % of the time",
    ),
    (
        make_claim("whatif.helps", "answer", "twice the uplinks", 0.5, "factor", simulated=3, of=4),
        "Helps most", "twice the uplinks: 2.00x faster",
    ),
    (
        make_claim("whatif.nothing-helps", "answer", simulated=3, of=3, least_share=0.02),
        "Nothing helps", "no alternative saves 2 % of the time",
    ),
    (
        make_claim("alternative.adapter", "breakdown", "adapters of twice the rate", 0.999, "factor"),
        "Alternative", "adapters of twice the rate: 0.999x",
    ),
    (
        make_claim("remedy.whatif-uplinks", "remedy", "twice the uplinks", 0.5, "share", basis="simulated"),
        "Try", "twice the uplinks: saves 50 %",
    ),
    (
        make_claim(
            "auto.best", "answer", "node.direct", 1.03, "factor", name="MPI_Alltoall", bytes=8, nodes=4, ranks=16
        ),
        "Table against best", "at most 1.03x the time of node.direct",
    ),
    (
        make_claim("remedy.algorithm-of-smaller", "remedy", "binomial", 0.86, "share", basis="extended"),
        "Try", "binomial, the algorithm of smaller sizes: saves 86 %",
    ),
    (
        make_claim("remedy.placement", "remedy", "", 0.5, "share", bound=1.0, whose="MPI_Alltoallv, heavy, 512 KiB"),
        "Try", "another placement or other routes: saves at most 50 % of MPI_Alltoallv, heavy, 512 KiB",
    ),
    (
        make_claim("remedy.table", "remedy", "tuning.json", 0.64, "share", bound=1e-3),
        "Try", "the selection table tuning.json: saves at most 64 %",
    ),
    (make_claim("share.file", "breakdown", "", 0.2, "share"), "File calls", "20 % of the time"),
    (
        make_claim(
            "bottleneck.late", "breakdown", "rank 5", 0.2, "share", bound=0.356, seconds=0.579, limit="computation",
            of="late",
        ),
        "Bottleneck", "late arrival of rank 5: 20 % of the time; bound (computation) 356 ms of 579 ms measured (61 %)",
    ),
    (
        make_claim("remedy.balance", "remedy", "", 0.2, "share", bound=0.1, computing_s=0.3, moving_s=0.1),
        "Try", "an even share of computing: saves at most 20 %",
    ),
    (make_claim("plain.measured", "answer", "toy", 8, "count", of=8), "Measured", "8 of 8 times of toy (100 %)"),
]  # fmt: skip


@pytest.mark.parametrize(("claim", "label", "value"), WORDS, ids=[claim["id"] for claim, _, _ in WORDS])
def test_a_claim_reads_as_a_label_and_a_value(claim: ClaimRow, label: str, value: str) -> None:
    row = say(claim)
    assert (row.label, row.value) == (label, value)


def test_every_doubt_has_words() -> None:
    ids = {**IDS, **{f"trace-{doubt}": f"trace.{doubt}" for doubt in TRACE_RULES}}
    assert set(TEXTS) == set(ids)
    for doubt, id in ids.items():
        claim = make_claim(id, "doubt", doubt, 0.5, "share", confidence="B", count=1, of=2, noun="rows")
        assert "{" not in say(claim).value


def test_a_card_is_answer_bottleneck_steps_remedy_and_confidence() -> None:
    rows = card_rows([ANSWER | {"confidence": "B"}, BOTTLENECK, STEP, REMEDY, DOUBT])
    assert [row.label for row in rows] == ["Network-bound", "Bottleneck", "1 -> 2 nodes", "Try", "Confidence"]
    assert rows[-1].text == "B   launch medians vary by more than 25 % in 10 of 15 rows, at most 2.50x"


def test_an_inconclusive_card_is_its_number_why_and_what_next() -> None:
    doubted = ANSWER | {"id": "contention.inconclusive", "confidence": "C"}
    rows = card_rows([doubted, DOUBT | {"confidence": "C"}])
    assert [row.label for row in rows] == ["Inconclusive", "Why", "Next"]
    assert rows[-1].value == "weft run contention --on virtual-default --launches 10"


def test_an_inconclusive_comparison_names_what_is_assumed_and_the_digits_left() -> None:
    answer = make_claim("compare.inconclusive", "answer", "a against b", confidence="C", next="weft fabric fit --help")
    words = {"base": 5e-5, "other": 5e-6, "number_unit": "s"}
    claims = [
        make_claim("assumed.number", "breakdown", "network.latency", digits=some, **words) for some in (0, 1, None)
    ]
    assert [say(claim).note for claim in claims] == [
        "no digit of the ratio is independent of it",
        "only 1 digit of the ratio is independent of it",
        "the ratios follow from it",
    ]
    judged = [ANSWER | {"id": "contention.inconclusive", "next": answer["next"]}, *claims[:1]]
    assert [row.label for row in card_rows(judged)][:2] == ["Inconclusive", "Assumed"]


def test_an_inconclusive_card_whose_answer_says_why_has_its_confidence_with_the_reason() -> None:
    """A page had a bare "C confidence" below "3 launches of at least 4"."""
    few = ANSWER | {"id": "contention.inconclusive", "confidence": "C", "next": "weft run contention --launches 4"}
    rows = card_rows([few, DOUBT | {"confidence": "C"}])
    assert [row.id for row in rows] == ["contention.inconclusive", "next", "confidence"]
    assert rows[-1].value == "C" and rows[-1].note.startswith(say(DOUBT).value)


@pytest.mark.parametrize(("most", "left"), [(288.0, "194x to 288x"), (None, "at least 194x")])
def test_a_card_says_what_is_left_of_a_factor_without_the_disturbances(most: float | None, left: str) -> None:
    answer = make_claim("contention.network-bound", "answer", "weak scaling", 248.0, "factor", (216.0, 288.0),
                        confidence="B", least=194.0, most=most, **SERIES)  # fmt: skip
    assert card_rows([answer, DOUBT])[-1].note.endswith(f"; allowing for the disturbances: {left}")


NONE_FASTER = make_claim("collective.none-faster", "answer", "", 12, "count")
ANSWERS = [
    *(claim for claim, *_ in WORDS if claim["kind"] == "answer" and not claim["id"].startswith("gate.")),
    NONE_FASTER,
]


@pytest.mark.parametrize("claim", ANSWERS, ids=lambda claim: claim["id"])
def test_every_answer_is_worded_when_the_quality_of_its_run_takes_it_back(claim: ClaimRow) -> None:
    """A page of algorithms of which none was faster ended in a KeyError at quality D."""
    doubt = QualityRow(
        doubt="steal", grade="D", count=1, of=1, share=1.0, noun="rows", worst=None, launches=None, turns=""
    )
    (judged,) = judge([claim], [doubt])
    row = say(judged)
    assert row.label and row.text
    assert claim is not NONE_FASTER or (judged["id"], row.label) == ("collective.inconclusive", "Inconclusive")
