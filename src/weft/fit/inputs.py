# SPDX-License-Identifier: BSD-3-Clause
"""Inputs of a fit: measured cells, from a table or a run, and the parameters of a fabric that can be fitted."""

import csv
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from io import StringIO
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, ValidationError

from weft.analyse.tables.times import CALLS
from weft.errors import DataError, StudyError
from weft.fabric.model import Fabric
from weft.fabric.nodeset import expand
from weft.fabric.numbers import number_of, with_number
from weft.files.beneath import read_plain
from weft.files.reading import is_list, parse_toml
from weft.files.section import Section
from weft.kernel.registry import kernel_named
from weft.plan.stored import plan_of
from weft.store.folder import RunFolder
from weft.store.tables import grouped

MOST_TABLE = 2**24  # bytes of a table of measured cells: some 200,000 of them


def nodes_of(given: Any) -> Any:
    """Expand a node set into names; other values are returned unchanged."""
    return expand(given) if isinstance(given, str) and given else given or ()


class MeasuredCell(Section, frozen=True):
    """One measured time of the exchange kernel: a row of a table, TOML ``[[cell]]`` or CSV with these columns."""

    nodes: int = Field(ge=1, description="N")
    ranks_per_node: int = Field(ge=1, description="ranks on each node")
    n: int = Field(ge=1, description="m-vectors of the global array")
    m: int = Field(ge=1, description="doubles of a vector")
    call: str = Field("C", pattern="^[ABC]$", description="A, B or C")
    seconds: float = Field(gt=0, allow_inf_nan=False)
    name: str = Field("", description='its name; "N=3 m=512" by default')
    # Its hosts (a node set in a table, "n[37-39]") and the order of its ranks; by default the fabric's first hosts.
    hosts: Annotated[tuple[str, ...], BeforeValidator(nodes_of)] = ()
    order: Literal["block", "cyclic"] = "block"

    @property
    def label(self) -> str:
        """Its name, or one composed of its sizes."""
        call = "" if self.call == "C" else f" {self.call}"
        return self.name or f"N={self.nodes} m={self.m}{call}"

    @property
    def ranks(self) -> int:
        """Ranks over all nodes."""
        return self.nodes * self.ranks_per_node


def read_cells(path: Path, calls: str = "ABC") -> list[MeasuredCell]:
    """Cells from a table or a run's warm medians, same sizes merged to their mean time; DataError names the row."""
    if path.is_dir():
        found = run_cells(path)
        if not found:
            raise DataError(f"{path} holds no cells", "fit to a run of the kernel exchange, with times of its calls")
        return merged(found)
    rows: Any
    try:
        text = read_plain(path, MOST_TABLE).decode()
        if path.suffix == ".toml":
            rows = parse_toml(text, str(path), DataError).get("cell", [])
        else:
            rows = list(csv.DictReader(StringIO(text)))
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise DataError(f"{path} cannot be read: {error}", "give a run folder, or a table .toml or .csv") from error
    if not is_list(rows) or not rows:
        raise DataError(f"{path} holds no cells", "write rows [[cell]] with nodes, ranks_per_node, n, m, seconds")
    cells = [checked(row, number, path) for number, row in enumerate(rows, 1)]
    taken = [cell for cell in cells if cell.call in calls]
    if not taken:
        others = ",".join(sorted({cell.call for cell in cells}))
        raise DataError(f"{path} holds no cell of call {', '.join(calls)}", f"it has others: --calls {others}")
    return merged(taken)


def checked(row: Any, number: int, path: Path) -> MeasuredCell:
    """One row as a cell; DataError if it lacks a value or has an impossible one."""
    try:
        return MeasuredCell.model_validate(row)
    except ValidationError as error:
        first = error.errors()[0]
        what = f"{path}: cell {number}: {'.'.join(map(str, first['loc']))}: {first['msg']}"
        raise DataError(what, "a cell has nodes, ranks_per_node, n, m, seconds") from error


def merged(cells: list[MeasuredCell]) -> list[MeasuredCell]:
    """Merge cells of the same sizes on the same nodes, and give each a unique name."""
    found = grouped(
        cells, lambda cell: (cell.nodes, cell.ranks_per_node, cell.n, cell.m, cell.call, cell.hosts, cell.order)
    )
    means = ((same[0], sum(cell.seconds for cell in same) / len(same)) for same in found.values())
    once = [first.model_copy(update={"seconds": seconds}) for first, seconds in means]
    shared = {label for label, count in Counter(cell.label for cell in once).items() if count > 1}
    return [cell.model_copy(update={"name": longer(cell)}) if cell.label in shared else cell for cell in once]


def longer(cell: MeasuredCell) -> str:
    """A name that distinguishes cells of the same N and m: with ranks, n and hosts."""
    text = f"{cell.label} r={cell.ranks_per_node} n={cell.n}"
    return f"{text} {cell.order} on {cell.hosts[0]}..{cell.hosts[-1]}" if cell.hosts else text


def run_cells(folder: Path) -> list[MeasuredCell]:
    """Warm medians of a run's calls A, B and C; DataError if the run has no tables."""
    path = CALLS.path(folder)
    if not path.is_file():
        raise DataError(f"{folder} has no {path.name}", f"weft show {folder} makes the tables of a run")
    cells = {cell.id: cell for cell in plan_of(RunFolder(folder)).cells}
    found: list[MeasuredCell] = []
    for row in CALLS.read(folder):
        if row["phase"] == "warm" and row["status"] == "ok" and row["call"] in kernel_named(row["kernel"]).fitted:
            cell, values = cells[row["cell"]], {key: row[key] for key in ("nodes", "ranks_per_node", "n", "m", "call")}
            values |= {"hosts": cell.hosts, "order": cell.order, "seconds": row["median_s"]}
            found.append(checked(values, len(found) + 1, path))
    return found


@dataclass(frozen=True)
class Parameter:
    """A number of a fabric file that can be fitted."""

    key: str  # its section in the file
    unit: str  # ``B/s`` or ``s``
    begin: float  # start value of a fit if the file states none, or zero

    def of(self, fabric: Fabric) -> float:
        """Its start value for a fabric."""
        return number_of(fabric, self.key) or self.begin


PARAMETERS = {
    "copy_rate": Parameter("node.copy_rate", "B/s", 5e9),
    "adapter_rate": Parameter("network.adapter_rate", "B/s", 3e9),
    "link_rate": Parameter("network.tree.link_rate", "B/s", 3e9),
    "overhead": Parameter("network.overhead", "s", 1e-5),
    "message_gap": Parameter("network.message_gap", "s", 1e-6),
    "rendezvous_stall": Parameter("network.rendezvous_stall", "s", 1e-5),
    "latency": Parameter("network.latency", "s", 1e-6),
    "connection_cost": Parameter("simulation.connection_cost", "s", 1e-3),
}


def parameters_named(names: Iterable[str]) -> dict[str, Parameter]:
    """Parameters by name; StudyError if one is not known."""
    for name in names:
        if name not in PARAMETERS:
            raise StudyError(f'"{name}" cannot be fitted', f"one of {', '.join(PARAMETERS)}")
    return {name: PARAMETERS[name] for name in names}


def with_values(fabric: Fabric, parameters: dict[str, Parameter], values: list[float]) -> Fabric:
    """The fabric with these values of the parameters; FabricError if it does not have the section of one."""
    for parameter, value in zip(parameters.values(), values, strict=True):
        fabric = with_number(fabric, parameter.key, value)
    return fabric
