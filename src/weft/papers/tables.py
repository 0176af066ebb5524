# SPDX-License-Identifier: BSD-3-Clause
"""Tables 4.2 and 4.4: tara's parameters fitted to three cells, the six others predicted."""

from collections.abc import Sequence
from contextlib import suppress
from itertools import combinations
from math import comb

from weft.errors import StudyError
from weft.fabric import Fabric, load_fabric
from weft.fit.inputs import PARAMETERS, MeasuredCell
from weft.fit.run import fit_cells
from weft.fit.squares import Cell, Fit
from weft.format import format_rate, format_seconds, percent, relative_error
from weft.papers import PARTS, Bench, Part, published
from weft.report.tabular import Table, Words

FITTED = ["copy_rate", "adapter_rate", "overhead"]
FIRST_M = 512
TABLES = {
    "constant-global": "Table 4.2: one array for all, m = 512 (simulated)",
    "constant-local": "Table 4.4: the same array on each node, m = 512 N (simulated)",
}


def cells(*series: str) -> list[MeasuredCell]:
    """The cells of some series, or of both tables: nine, which share the cell at N = 1."""
    tara = published("tara")
    experiment, made = tara["experiment"], dict[str, MeasuredCell]()
    for name in series or TABLES:
        for nodes, seconds in zip(experiment["nodes"], tara["seconds"][name], strict=True):
            cell = MeasuredCell(
                nodes=nodes, ranks_per_node=experiment["ranks_per_node"], n=experiment["n"],
                m=FIRST_M * (nodes if name == "constant-local" else 1), call="C", seconds=seconds, name="",
            )  # fmt: skip
            made.setdefault(cell.label, cell)
    return list(made.values())


def compute(bench: Bench) -> Part:
    """Fit the parameters, predict the other cells, and compare."""
    fabric = load_fabric("tara")
    found = fit_cells(fabric, cells(), FITTED, [], simulate=True, say=bench.say)
    largest, mean = errors(found)
    sentences = (
        f"Three cells fitted, {len(found.cells) - 3} predicted: each within {percent(largest)}, {percent(mean)} in the "
        "mean. The papers print two digits after the point, which alone is 4.5 % of 0.11 s either way.",
        f"Error on cells that the fit had not seen: {percent(found.leave_out_error)} in the mean. Three parameters on "
        "three cells leave none of the three to be left out in turn.",
    )
    others = accepted_triples(fabric)
    largest_of = [errors(each)[0] for each in others]  # ascending
    accepted = (
        f"{len(others)} of the {comb(len(found.cells), 3)} triples of cells determine the three numbers well enough to "
        f"be accepted. By the closed form, each fitted to its three cells errs on the six others by "
        f"{percent(largest_of[len(others) // 2])} at the most in the median of the triples, by "
        f"{percent(largest_of[-1])} for the worst of them; the last table has all."
    )
    values = {"largest": largest, "mean": mean, "leave_out": found.leave_out_error, **found.parameters}
    values |= {"triples": len(others), "triples_worst": largest_of[-1]}
    tables = (*both_tables(found), _parameters_table(found), triples_table(others))
    return Part("tables", PARTS["tables"], (*sentences, accepted), tables, values)


def accepted_triples(fabric: Fabric) -> list[Fit]:
    """Fits by the closed form to each triple of cells that is accepted, the best first."""
    made = cells()
    found: list[Fit] = []
    for names in combinations([cell.label for cell in made], len(FITTED)):
        with suppress(StudyError):  # a triple that cannot separate the numbers is refused
            found.append(fit_cells(fabric, made, FITTED, list(names), simulate=False))
    return sorted(found, key=errors)


def triples_table(found: Sequence[Fit]) -> Table:
    """For each triple of fitted cells its errors on the six others."""
    names = (", ".join(cell.name for cell in each.cells if cell.fitted) for each in found)
    rows = tuple((name, *map(percent, errors(each))) for name, each in zip(names, found, strict=True))
    title = "Accepted triples of cells, and what a fit to them errs on the others (closed form)"
    return Table(title, ("fitted to", "largest error", "mean error"), rows)


def errors(found: Fit) -> tuple[float, float]:
    """Largest and mean absolute relative error of the predicted cells."""
    sizes = [abs(cell.error) for cell in found.cells if not cell.fitted]
    return max(sizes), sum(sizes) / len(sizes)


def both_tables(found: Fit) -> tuple[Table, ...]:
    """Tables 4.2 and 4.4, paper and simulation side by side."""
    by_name = {cell.name: cell for cell in found.cells}
    columns = ("N", "paper", "simulated", "error", Words(""))
    return tuple(
        Table(title, columns, tuple(row(cell.nodes, by_name[cell.label]) for cell in cells(series)))
        for series, title in TABLES.items()
    )


def row(nodes: int, cell: Cell) -> tuple[str, ...]:
    """One line of a table."""
    what = "fitted" if cell.fitted else "predicted"
    return (str(nodes), f"{cell.measured_s:.2f} s", f"{cell.modelled_s:.3f} s", relative_error(cell.error), what)


def _parameters_table(found: Fit) -> Table:
    fabric = load_fabric("tara")
    fitted = [(PARAMETERS[name], value) for name, value in found.parameters.items()]
    says = {each.key: format_rate if each.unit == "B/s" else format_seconds for each, _ in fitted}
    rows = tuple((each.key, says[each.key](value), says[each.key](each.of(fabric))) for each, value in fitted)
    return Table("Fitted numbers", ("key", "fitted now", "in fabrics/tara.toml"), rows)
