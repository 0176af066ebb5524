# SPDX-License-Identifier: BSD-3-Clause
"""The papers' two verdicts: with more nodes strong scaling of the exchange is faster, weak scaling slower."""

from weft.analyse.tables.answers import VerdictRow
from weft.papers import PARTS, Part, published
from weft.papers.bench import Bench
from weft.report.tabular import Table, Words

STUDIES = {"constant-global": ("tara-constant-global", "strong"), "constant-local": ("tara-constant-local", "weak")}


def compute(bench: Bench) -> Part:
    """Compare each study's verdict on C with the paper's."""
    rows: list[tuple[str, ...]] = []
    values: dict[str, float] = {}
    sentences: list[str] = []
    equal = True
    for series, (study, kind) in STUDIES.items():
        verdict = next(each for each in bench.run(study, "tara").verdicts if each["series"] == series)
        seconds = published("tara")["seconds"][series]
        factor = seconds[-1] / seconds[0]
        paper = "falls" if factor < 1 else "rises"
        equal = equal and verdict["outcome"] == paper
        values |= {f"{series}_paper": factor, f"{series}_simulated": verdict["factor"] or float("nan")}
        rows.append(
            (
                f"{kind} ({series})",
                words(paper, factor),
                words(verdict["outcome"], verdict["factor"]),
                same(verdict, paper),
            )
        )
        sentences.append(f"{kind}: {bench.run(study, 'tara').headline}")
    table = Table(
        "Time of C from N = 1 to 36 (simulated)", (Words("scaling"), "paper", "simulated", Words("")), tuple(rows)
    )
    opening = "Both verdicts equal the paper's." if equal else "A verdict differs from the paper's."
    return Part("scaling", PARTS["scaling"], (opening, *sentences), (table,), {**values, "equal": float(equal)})


def words(outcome: str, factor: float | None) -> str:
    """An outcome in words: ``rises, factor 2.02``."""
    return (
        outcome
        if factor is None
        else f"{outcome}, factor {factor:.2f}"
        if factor > 1
        else f"{outcome}, to 1/{1 / factor:.1f}"
    )


def same(verdict: VerdictRow, paper: str) -> str:
    """Whether a verdict agrees with the paper's, in words."""
    return "equal" if verdict["outcome"] == paper else "differs"
