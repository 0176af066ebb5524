# SPDX-License-Identifier: BSD-3-Clause
"""Explanations of rows A and B of Table 4.6 by connections on demand, each with its own fitted cost of a connection.

The time of a first call is linear in that cost c: :math:`T(c) = T_\\mathrm{warm} + c K`. One simulation of each
explanation gives K for every N, and c follows from row B by least squares on the logarithm, as any other fit.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from weft.errors import DataError
from weft.fabric import Fabric, load_fabric
from weft.files.atomic import write_atomic
from weft.files.section import put
from weft.fit.squares import Floats, solve
from weft.format import format_seconds, relative_error
from weft.papers import published
from weft.papers.bench import Bench, row_of, seconds_of
from weft.report.tabular import Table

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


@dataclass(frozen=True)
class Explained:
    """One explanation."""

    # name, words: its name, and what it says
    name: str
    words: str
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


def explain(bench: Bench) -> list[Explained]:
    """Simulate the first calls for each explanation, and fit its cost of a connection."""
    return [explained(bench, name, words, keys) for name, words, keys in EXPLANATIONS]


def explained(bench: Bench, name: str, words: str, keys: dict[str, str]) -> Explained:
    """One explanation, from a run of its own; DataError if a call has no time there."""
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

    of_b = [both("B", count) for count in nodes]
    cost_s = fitted_cost(of_b, [printed[count] for count in nodes], given_s)
    a_s = {count: warm + cost_s * share for count in nodes for warm, share in [both("A", count)]}
    errors = {
        count: (warm + cost_s * share) / printed[count] - 1 for count, (warm, share) in zip(nodes, of_b, strict=True)
    }
    return Explained(name, words, cost_s, a_s, errors)


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
            each.words,
            format_seconds(each.cost_s),
            *(format_seconds(seconds) for seconds in each.a_s.values()),
            "yes" if each.a_holds else "no",
            *(relative_error(error, 0) for error in each.b_errors.values()),
        )
        for each in found
    )
    return Table("First calls by what was connected before (simulated)", columns, rows)
