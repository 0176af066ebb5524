# SPDX-License-Identifier: BSD-3-Clause
"""Table 4.6: the three calls of the exchange, and why B takes longer than C with 1/1024 of its bytes.
The time of a first call is linear in the cost c of a connection: T(c) = T_warm + c K. One simulation
of each explanation gives K for every N, and c follows from row B by least squares on the logarithm, as any other fit.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from weft.errors import DataError
from weft.fabric import Fabric, load_fabric
from weft.files.atomic import write_atomic
from weft.files.section import put
from weft.fit.squares import Floats, solve
from weft.format import format_seconds, percent, relative_error
from weft.papers import PARTS, Bench, Part, error_text, paper_text, published, row_of, seconds_of, time_or_status
from weft.report.tabular import Table
from weft.report.view import CALLS, RunView

STUDY = "tara-first-calls"
LIMIT_S = 0.01  # row A is printed as "< 0.01"
#: Name, what it says in words, and the keys of the fabric file that say it.
EXPLANATIONS = (
    ("fresh", "nothing was connected before A", {"simulation.start_up": "nothing"}),
    (
        "bruck",
        "nothing was connected and A went by Bruck's algorithm",
        {"simulation.start_up": "nothing", "simulation.algorithms.alltoall": "bruck"},
    ),
    ("barrier", "start-up or the program had made a barrier", {"simulation.start_up": "barrier"}),
)
CALLS_STUDY = "tara-constant-global"
FINEST_S = 0.01  # the papers print hundredths: at or below this only the order of magnitude is known


@dataclass(frozen=True)
class Explained:
    """One explanation."""

    name: str
    words: str  # what it says
    cost_s: float  # what either end spends on a connection, fitted to row B
    a_s: dict[int, float]  # first call A in seconds by N
    b_errors: dict[int, float]  # relative error of first call B by N

    @property
    def a_holds(self) -> bool:
        """Whether A stays below what the paper prints, at every N."""
        return all(seconds < LIMIT_S for seconds in self.a_s.values())

    @property
    def worst(self) -> float:
        """Largest absolute error of row B."""
        return max(abs(error) for error in self.b_errors.values())


def explained(bench: Bench, name: str, words: str, keys: dict[str, str]) -> Explained:
    """One explanation, its cost of a connection fitted to a run of its own; DataError if a call has no time there."""
    fabric = variant(bench.folder, name, keys)
    view = bench.run(STUDY, fabric)
    assert fabric.simulation is not None
    given_s, paper = fabric.simulation.connection_cost, published("tara")
    printed = dict(zip(paper["experiment"]["nodes"], paper["calls"]["B"]["seconds"], strict=True))
    nodes = sorted({row["nodes"] for row in view.rows})

    def both(call: str, count: int) -> tuple[float, float]:
        """Warm seconds, and K: seconds that a second of connection cost adds to the first call."""
        cold, warm = (seconds_of(row_of(view.rows, count, phase, call=call)) for phase in ("cold", "warm"))
        if cold is None or warm is None:
            raise DataError(f"{view.path} has no time of {call} at N = {count}", f"weft show {view.path} says why")
        return warm, (cold - warm) / given_s

    of_b, of_a = ({count: both(call, count) for count in nodes} for call in "BA")
    cost_s = fitted_cost(list(of_b.values()), [printed[count] for count in nodes], given_s)
    a_s, b_s = ({count: warm + cost_s * share for count, (warm, share) in of.items()} for of in (of_a, of_b))
    return Explained(name, words, cost_s, a_s, {count: b_s[count] / printed[count] - 1 for count in nodes})


def fitted_cost(cells: Sequence[tuple[float, float]], seconds: Sequence[float], start_s: float) -> float:
    """The cost of a connection in seconds that fits cells with warm times and shares K to measured times."""
    warm, share = np.array(cells).T

    def model(theta: Floats, indices: Sequence[int]) -> Floats:
        chosen = list(indices)
        return np.asarray(warm[chosen] + theta[0] * share[chosen])

    return float(solve(model, np.array([start_s]), np.array(seconds), range(len(cells)), model)[0])


def variant(folder: Path, name: str, keys: dict[str, str]) -> Fabric:
    """The machine tara with other values in ``[simulation]``, written into the folder."""
    lines = load_fabric("tara").text.splitlines()
    put(lines, "", "name", f'"tara-{name}"')
    for key, value in keys.items():
        section, _, last = key.rpartition(".")
        put(lines, section, last, f'"{value}"')
    path = folder / f"tara-{name}.toml"
    path.parent.mkdir(parents=True, exist_ok=True)
    write_atomic(path, ("\n".join(lines) + "\n").encode())
    return load_fabric(path)


def table(found: Sequence[Explained]) -> Table:
    """All explanations with the errors of both rows."""
    nodes = list(found[0].a_s)
    of_a, of_b = ([f"{call}, N = {n}" for n in nodes] for call in "AB")
    columns = ("explanation", "cost fitted", *of_a, "< 10 ms", *of_b)
    rows = tuple(
        (
            each.words, format_seconds(each.cost_s), *map(format_seconds, each.a_s.values()),
            "yes" if each.a_holds else "no", *(relative_error(error, 0) for error in each.b_errors.values()),
        )
        for each in found
    )  # fmt: skip
    return Table("First calls by what was connected before (simulated)", columns, rows)


def compute(bench: Bench) -> Part:
    """Compare the first calls of a job with later ones."""
    view, paper = bench.run(CALLS_STUDY, "tara"), published("tara")
    nodes: list[int] = paper["experiment"]["nodes"]
    tables, values = list[Table](), dict[str, float]()
    for call, printed in paper["calls"].items():
        rows: list[tuple[str, ...]] = []
        for count, seconds, below in zip(nodes, printed["seconds"], printed["below"], strict=True):
            cold, warm = (row_of(view.rows, count, phase, call=call) for phase in ("cold", "warm"))
            # The papers' program calls A, then B, then C, once each: its times are those of first calls.
            seen = seconds_of(warm if call == "C" else cold)
            error = "–" if below or seconds <= FINEST_S else error_text(seen, seconds)
            paper_s = paper_text(seconds, below=below)
            rows.append((str(count), paper_s, time_or_status(cold), time_or_status(warm), error))
            if seen is not None and error != "–":
                values[f"{call}{count}"] = seen / seconds - 1
        heading = "error, of the " + ("later calls" if call == "C" else "first call")
        columns = ("N", "paper", "first call", "later calls", heading)
        tables.append(Table(f"{CALLS[call]} (simulated)", columns, tuple(rows)))
    warm_b = seconds_of(row_of(view.rows, nodes[-1], "warm", call="B")) or math.nan
    explanations = [explained(bench, *each) for each in EXPLANATIONS]
    values |= {"B_warm": warm_b} | {f"{each.name}_worst": each.worst for each in explanations}
    values |= {f"{each.name}_A{n}": seconds for each in explanations for n, seconds in each.a_s.items()}
    return Part("calls", PARTS["calls"], sentences(view, values, explanations), (*tables, table(explanations)), values)


def sentences(view: RunView, values: dict[str, float], explanations: Sequence[Explained]) -> tuple[str, ...]:
    """Findings: what explains rows A and B, by how much it errs, and what stays open."""
    first = {call: row_of(view.rows, 36, "cold", call=call) for call in "AB"}
    names = {call: row["algorithm"] if row else "unknown" for call, row in first.items()}
    row_b = [value for name, value in values.items() if name.startswith("B") and name[1:].isdigit()]
    said: list[str] = []
    for each in sorted(explanations, key=lambda each: each.a_holds):
        span = " to ".join(format_seconds(end(each.a_s.values())) for end in (min, max))
        said.append(f"If {each.words}, A takes {span}: this {'agrees' if each.a_holds else 'contradicts it'}.")
    return (
        "Why B, with 1/1024 of C's bytes, takes up to five times as long is explained by connections on demand: "
        "MVAPICH2 connects two ranks when they first meet, in jobs of more than 64 ranks. B is the first call in which "
        f"each rank meets all p - 1, one after the other (here by {names['B']}), and pays for each; C finds them open. "
        f"Called again, B takes {format_seconds(values['B_warm'])} at N = 36, the overhead of its messages.",
        f"Row B errs by {relative_error(min(row_b), 0)} to {relative_error(max(row_b), 0)} where the paper prints more "
        "than 0.01 s. The cost of a connection is fitted to this very row; that its shape follows, and that no other "
        "call pays, is not.",
        "A, the first call of the job, also meets others for the first time, log2 p of them: SimGrid's selector of "
        f"MVAPICH2's tables takes {names['A']} for it (recursive doubling, in which both ends of a connection send at "
        "once and share its cost). The paper prints less than 0.01 s for A at every N. " + " ".join(said),
        "What had connected these few ranks is not in the paper: the library's start-up, a barrier of the "
        "program before its clock starts, or handshakes that are shorter while few are under way. fabrics/tara.toml "
        "assumes the barrier. Row B does not decide: with the cost fitted, every explanation errs by "
        f"{percent(min(each.worst for each in explanations))} or more somewhere in it, because the paper's B grows 3.2 "
        "times from 72 to 144 ranks, and a cost by connection 2.2 times.",
    )
