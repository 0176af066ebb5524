# SPDX-License-Identifier: BSD-3-Clause
"""Table 4.6: the three calls of the exchange, and why B takes longer than C with 1/1024 of its bytes."""

import math
from collections.abc import Sequence

from weft.analyse.tables.times import CallRow
from weft.format import format_seconds
from weft.papers import PARTS, Part, first_calls, published
from weft.papers.bench import Bench, error_text, paper_text, row_of, seconds_of, time_or_status
from weft.papers.first_calls import Explained
from weft.report.tabular import Table
from weft.report.view import CALLS, RunView

STUDY = "tara-constant-global"
TOLD = 0.01  # the papers print hundredths: at or below this only the order of magnitude is known


def compute(bench: Bench) -> Part:
    """Compare the first calls of a job with later ones."""
    view, paper = bench.run(STUDY, "tara"), published("tara")
    nodes: list[int] = paper["experiment"]["nodes"]
    tables: list[Table] = []
    values: dict[str, float] = {}
    for call, printed in paper["calls"].items():
        rows: list[tuple[str, ...]] = []
        for count, seconds, below in zip(nodes, printed["seconds"], printed["below"], strict=True):
            cold, warm = at(view, call, "cold", count), at(view, call, "warm", count)
            # The papers' program calls A, then B, then C, once each: its times are those of first calls.
            seen = seconds_of(warm if call == "C" else cold)
            error = "–" if below or seconds <= TOLD else error_text(seen, seconds)
            rows.append(
                (str(count), paper_text(seconds, below=below), time_or_status(cold), time_or_status(warm), error)
            )
            if seen is not None and error != "–":
                values[f"{call}{count}"] = seen / seconds - 1
        heading = "error, of the " + ("later calls" if call == "C" else "first call")
        tables.append(
            Table(f"{CALLS[call]} (simulated)", ("N", "paper", "first call", "later calls", heading), tuple(rows))
        )
    warm_b = seconds_of(at(view, "B", "warm", nodes[-1])) or math.nan
    explanations = first_calls.explain(bench)
    values |= {"B_warm": warm_b} | {f"{each.name}_worst": each.worst for each in explanations}
    values |= {f"{each.name}_A{n}": seconds for each in explanations for n, seconds in each.a_s.items()}
    found = sentences(view, values, explanations)
    return Part("calls", PARTS["calls"], found, (*tables, first_calls.table(explanations)), values)


def sentences(view: RunView, values: dict[str, float], explanations: Sequence[Explained]) -> tuple[str, ...]:
    """Findings: what explains rows A and B, by how much it errs, and what cannot be told."""
    names = {call: row["algorithm"] if (row := at(view, call, "cold", 36)) else "unknown" for call in "AB"}
    row_b = [value for name, value in values.items() if name.startswith("B") and name[1:].isdigit()]
    holds = [each for each in explanations if each.a_holds]
    fails = [each for each in explanations if not each.a_holds]
    return (
        "Why B, with 1/1024 of C's bytes, takes up to five times as long is explained by connections on demand: "
        "MVAPICH2 connects two ranks when they first meet, in jobs of more than 64 ranks. B is the first call in which "
        f"each rank meets all p - 1, one after the other (here by {names['B']}), and pays for each; C finds them open. "
        f"Called again, B takes {format_seconds(values['B_warm'])} at N = 36, the overhead of its messages.",
        f"Row B errs by {min(row_b):+.0%} to {max(row_b):+.0%} where the paper prints more than 0.01 s. The cost of a "
        "connection is fitted to this very row; that its shape follows, and that no other call pays, is not.",
        "A, the first call of the job, also meets others for the first time, log2 p of them: SimGrid's selector of "
        f"MVAPICH2's tables takes {names['A']} for it (recursive doubling, in which both ends of a connection send at "
        "once and share its cost). The paper prints less than 0.01 s for A at every N. "
        + " ".join(
            [f"If {each.words}, A takes {_span(each)}: this contradicts it." for each in fails]
            + [f"If {each.words}, A takes {_span(each)}: this agrees." for each in holds]
        ),
        "What had connected these few ranks is not in the paper: the library's start-up, a barrier of the "
        "program before its clock starts, or handshakes that are shorter while few are under way. fabrics/tara.toml "
        "assumes the barrier. Row B does not decide: with the cost fitted, every explanation errs by "
        f"{min(each.worst for each in explanations):.0%} or more somewhere in it, because the paper's B grows 3.2 "
        "times from 72 to 144 ranks, and a cost by connection 2.2 times.",
    )


def _span(each: Explained) -> str:
    return " to ".join(format_seconds(seconds) for seconds in (min(each.a_s.values()), max(each.a_s.values())))


def at(view: RunView, call: str, phase: str, nodes: int) -> CallRow | None:
    """The row of a call and phase on ``nodes`` nodes."""
    return row_of(view.rows, nodes, phase, call=call)
