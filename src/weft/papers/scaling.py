# SPDX-License-Identifier: BSD-3-Clause
"""The papers' two verdicts: with more nodes strong scaling of the exchange is faster, weak scaling slower."""

from weft.papers import PARTS, Bench, Part, published
from weft.report.tabular import Table, Words

STUDIES = {"constant-global": ("tara-constant-global", "strong"), "constant-local": ("tara-constant-local", "weak")}


def compute(bench: Bench) -> Part:
    """Compare each study's verdict on C with the paper's."""
    rows: list[tuple[str, ...]] = []
    values: dict[str, float] = {}
    sentences: list[str] = []
    for series, (study, kind) in STUDIES.items():
        view = bench.run(study, "tara")
        verdict = next(each for each in view.verdicts if each["series"] == series)
        seconds = published("tara")["seconds"][series]
        factor = seconds[-1] / seconds[0]
        paper = "falls" if factor < 1 else "rises"
        values |= {f"{series}_paper": factor, f"{series}_simulated": verdict["factor"] or float("nan")}
        same = "equal" if verdict["outcome"] == paper else "differs"
        rows.append((f"{kind} ({series})", words(paper, factor), words(verdict["outcome"], verdict["factor"]), same))
        sentences.append(f"{kind}: {view.headline}")
    columns = (Words("scaling"), "paper", "simulated", Words(""))
    table = Table("Time of C from N = 1 to 36 (simulated)", columns, tuple(rows))
    equal = all(row[-1] == "equal" for row in rows)
    opening = "Both verdicts equal the paper's." if equal else "A verdict differs from the paper's."
    return Part("scaling", PARTS["scaling"], (opening, *sentences), (table,), {**values, "equal": float(equal)})


def words(outcome: str, factor: float | None) -> str:
    """An outcome in words: ``rises, factor 2.02``."""
    if factor is None:
        return outcome
    return f"{outcome}, factor {factor:.2f}" if factor > 1 else f"{outcome}, to 1/{1 / factor:.1f}"
