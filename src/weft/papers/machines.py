# SPDX-License-Identifier: BSD-3-Clause
"""Published all-to-alls of machines that nobody fitted: from presets, from two fitted cells, from the other machines.
A simulated time is split into bytes and messages as its range is (:mod:`weft.analyse.ranges`). Two factors, one for
either part, are fitted: to two cells of a machine, or to all cells of the other machines.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from math import log1p
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

from weft.analyse.ranges import LIBRARY, bytes_s
from weft.analyse.tables.times import timed
from weft.fabric import load_fabric
from weft.files.atomic import write_atomic
from weft.fit.squares import Floats, solve
from weft.format import format_bytes, measured_seconds, percent, relative_error
from weft.kernel.sizes import split_op
from weft.papers import PARTS, Bench, Part, published
from weft.report.tabular import Number, Table

FITTED_BLOCKS = (64, 2**20)  # of the cells that are fitted: of messages on the fewest nodes, of bytes on the most
ALONE = np.ones(2)
MISSED = 0.25  # relative error of a cell whose missing term is named
STEP = 0.4  # share of an error that appears between two neighbours of a table where that step is its cause
SHORT, MIDDLE = 2**10, 2**16  # blocks up to which libraries change algorithms, and the way a message goes
COLUMNS = ("machine", Number("cells"), "median", "worst", "inside the range", "worst cell", "algorithm there")


@dataclass(frozen=True)
class PublishedCell:
    """A published time and the simulated one."""

    nodes: int
    block_bytes: int
    published_s: float
    simulated_s: float
    bytes_s: float  # the part of the simulated time that is bytes
    low_s: float  # to high_s: the range of the simulated time
    high_s: float
    algorithm: str  # what SMPI took

    @property
    def error(self) -> float:
        """Relative error of the simulated time."""
        return self.simulated_s / self.published_s - 1

    def scaled(self, factors: Floats) -> "PublishedCell":
        """The cell with other times of its bytes and its messages, by factors of shape (2,)."""
        return replace(self, simulated_s=float(factors @ [self.bytes_s, self.simulated_s - self.bytes_s]))


Cells = dict[str, list[PublishedCell]]


def compute(bench: Bench) -> Part:
    """Simulate each machine from its presets, and compare in three ways."""
    facts = published("machines")
    presets = {name: machine_cells(name, machine, bench) for name, machine in facts.items()}
    two = {name: from_two(cells) for name, cells in presets.items()}
    fitted = {name: [cell for cell in cells if cell not in fitted_of(cells)] for name, cells in two.items()}
    others = {name: from_others(name, presets) for name in presets}
    ways = {"presets": presets, "two fitted cells": fitted, "factors of the other machines": others}
    titles = {f"Error from {way} (simulated)": cells for way, cells in ways.items()}
    tables = [errors_table(title, cells, ranged=cells is presets) for title, cells in titles.items()]
    values = {
        f"{way.split()[0]}_{name}_{what}": value
        for way, cells in ways.items()
        for name, own in {**cells, "all": [cell for each in cells.values() for cell in each]}.items()
        for what, value in figures(own).items()
    }
    tables += [missing_table(two), *(cells_table(facts[name]["title"], cells) for name, cells in presets.items())]
    return Part("machines", PARTS["machines"], sentences(values), tuple(tables), values)


def machine_cells(name: str, facts: Mapping[str, Any], bench: Bench) -> list[PublishedCell]:
    """The cells of one machine, simulated from its presets."""
    study, fabric = write_inputs(name, facts, bench.folder)
    view = bench.run(str(study), load_fabric(fabric))
    rows, cells = timed(view.rows, phase="warm"), {cell.id: cell for cell in view.plan.cells}
    sizes: Sequence[int] = facts["bytes"]
    us = {(int(nodes), size): time for nodes, times in facts["us"].items() for size, time in zip(sizes, times)}  # noqa: B905
    found = [
        PublishedCell(
            row["nodes"], row["block_bytes"], us[row["nodes"], row["block_bytes"]] * 1e-6, row["median_s"],
            bytes_s(cells[row["cell"]], row["call"], row["median_s"]), row["low_s"] or 0.0, row["high_s"] or 0.0,
            row["algorithm"],
        )
        for row in rows
        if split_op(row["call"])[1] is not None
    ]  # fmt: skip
    return sorted(found, key=lambda cell: (cell.nodes, cell.block_bytes))


def write_inputs(name: str, facts: Mapping[str, Any], folder: Path) -> tuple[Path, Path]:
    """Write study and fabric file of a machine; returns their paths."""
    folder.mkdir(parents=True, exist_ok=True)
    nodes = sorted(int(count) for count in facts["us"])
    sizes: Sequence[int] = facts["bytes"]
    study = f"""name = "alltoall-{name}"
title = "The published all-to-all of {name}"
kernel = "collective"
explain = false
[measure]
launches = 1
[collective]
collectives = ["Alltoall"]
sizes = "{format_bytes(sizes[0])} .. {format_bytes(sizes[-1])}"
[[series]]
name = "published"
nodes = {nodes}
ranks_per_node = {facts["ranks_per_node"]}
"""
    fabric = f"""name = "{name}"
kind = "simulated"
title = "{facts["title"]}"
[node]
names = "n[1-{nodes[-1]}]"
memory = "512 GiB"
preset = "{facts["node"]}"
[network]
preset = "{facts["network"]}"
rails = {facts["rails"]}
[simulation]
collectives = "{facts["collectives"]}"
"""
    paths = folder / f"alltoall-{name}.toml", folder / f"{name}.toml"
    for path, text in zip(paths, (study, fabric), strict=True):
        write_atomic(path, text.encode())
    return paths


def from_two(cells: list[PublishedCell]) -> list[PublishedCell]:
    """The cells with factors that are fitted to two of them, these two as well."""
    factors = fitted_factors(fitted_of(cells))
    return [cell.scaled(factors) for cell in cells]


def fitted_of(cells: Sequence[PublishedCell]) -> list[PublishedCell]:
    """The two cells of a machine that are fitted."""
    counts = [cell.nodes for cell in cells]
    chosen = set(zip((min(counts), max(counts)), FITTED_BLOCKS, strict=True))
    return [cell for cell in cells if (cell.nodes, cell.block_bytes) in chosen]


def from_others(name: str, machines: Cells) -> list[PublishedCell]:
    """The cells of a machine with factors that are fitted to all cells of the others."""
    factors = fitted_factors([cell for other, cells in machines.items() if other != name for cell in cells])
    return [cell.scaled(factors) for cell in machines[name]]


def fitted_factors(cells: Sequence[PublishedCell]) -> Floats:
    """Factors of bytes and messages, shape (2,), with the least squares of the logarithms of these cells' times."""
    parts = np.array([[cell.bytes_s, cell.simulated_s - cell.bytes_s] for cell in cells])

    def times(theta: Floats, indices: Sequence[int]) -> Floats:
        return parts[list(indices)] @ theta

    return solve(times, ALONE, np.array([cell.published_s for cell in cells]), range(len(cells)), times)


def figures(cells: Sequence[PublishedCell]) -> dict[str, float]:
    """Median and largest absolute relative error, and the shares of cells inside their range, and without `LIBRARY`."""
    sizes = [abs(cell.error) for cell in cells]
    inside = sum(cell.low_s <= cell.published_s <= cell.high_s for cell in cells) / len(cells)
    narrow = sum(cell.low_s * LIBRARY <= cell.published_s <= cell.high_s / LIBRARY for cell in cells) / len(cells)
    return {"median": median(sizes), "worst": max(sizes), "inside": inside, "narrow": narrow}


def errors_table(title: str, machines: Cells, *, ranged: bool) -> Table:
    """A line for each machine; ``ranged`` if its times have the range that is printed with them."""
    lines: list[tuple[str, ...]] = []
    for name, cells in machines.items():
        seen = figures(cells)
        worst = max(cells, key=lambda cell: abs(cell.error))
        where = f"N={worst.nodes}, {format_bytes(worst.block_bytes)}: {relative_error(worst.error, 0)}"
        shares = (percent(seen["median"]), percent(seen["worst"]), percent(seen["inside"]) if ranged else "–")
        lines.append((name, str(len(cells)), *shares, where, worst.algorithm))
    return Table(title, COLUMNS, tuple(lines))


def missing_table(machines: Cells) -> Table:
    """The cells that two factors miss, by what the model lacks there."""
    missed: dict[tuple[str, str, str], list[PublishedCell]] = defaultdict(list)
    for name, cells in machines.items():
        for cell in (cell for cell in cells if abs(cell.error) > MISSED):
            missed[name, *missing_term(cell, cells)].append(cell)
    lines: list[tuple[str, ...]] = []
    for key, cells in missed.items():
        sizes, errors = [cell.block_bytes for cell in cells], [cell.error for cell in cells]
        span = f"{relative_error(min(errors), 0)} to {relative_error(max(errors), 0)}"
        lines.append((*key, str(len(cells)), f"{format_bytes(min(sizes))} to {format_bytes(max(sizes))}", span))
    columns = ("machine", "missing term", "where it appears", Number("cells"), "blocks", "error")
    return Table(f"Cells that two factors miss by over {percent(MISSED)} (simulated)", columns, tuple(lines))


def missing_term(cell: PublishedCell, cells: Sequence[PublishedCell]) -> tuple[str, str]:
    """What the model of a cell lacks, and between which two cells of its table the error appears, as words.
    That is the nearest step in block, or else in nodes, where the published time changes otherwise than the simulated
    one by `STEP` of the error; where none does, the time errs as a whole.
    """
    long = cell.block_bytes > MIDDLE
    of_ranks = "copies and adapter sharing" if long else "cost of a message in this library"
    sizes = [each for each in cells if each.nodes == cell.nodes]
    if step := nearest_step(cell, sorted(sizes, key=lambda each: each.block_bytes)):
        short = step[1].block_bytes <= SHORT
        term = of_ranks if long else "algorithm switch or inline limit" if short else "rendezvous"
        ends = f"N={cell.nodes}, {format_bytes(step[0].block_bytes)} to {format_bytes(step[1].block_bytes)}"
    elif step := nearest_step(cell, [each for each in cells if each.block_bytes == cell.block_bytes]):
        term, ends = of_ranks, f"N={step[0].nodes} to {step[1].nodes}, {format_bytes(cell.block_bytes)}"
    else:
        return of_ranks, "at all blocks and nodes"
    published, simulated = step[1].published_s / step[0].published_s, step[1].simulated_s / step[0].simulated_s
    return term, f"{ends}: published x{published:.2f}, simulated x{simulated:.2f}"


def nearest_step(cell: PublishedCell, row: Sequence[PublishedCell]) -> tuple[PublishedCell, PublishedCell] | None:
    """The two neighbours of a cell's row between which `STEP` of its error appears, or disappears after it."""
    place = row.index(cell)
    found: list[tuple[int, float, int]] = []
    for at, (one, two) in enumerate(pairwise(row)):
        share = (log1p(two.error) - log1p(one.error)) / log1p(cell.error) * (1 if at < place else -1)
        if share >= STEP:
            found.append((place - at - 1 if at < place else at - place, -share, at))
    at = min(found)[-1] if found else 0
    return (row[at], row[at + 1]) if found else None


def cells_table(title: str, cells: Sequence[PublishedCell]) -> Table:
    """A line for each cell of a machine."""
    lines = tuple(
        (
            str(cell.nodes), format_bytes(cell.block_bytes), measured_seconds(cell.published_s),
            measured_seconds(cell.simulated_s, cell.low_s, cell.high_s), relative_error(cell.error, 0), cell.algorithm,
        )
        for cell in cells
    )  # fmt: skip
    return Table(title, (Number("N"), "block", "published", "from presets", "error", "algorithm"), lines)


def sentences(values: Mapping[str, float]) -> tuple[str, ...]:
    """What the three ways are worth, as sentences."""

    def error(way: str) -> str:
        middle, worst = (percent(values[f"{way}_all_{what}"]) for what in ("median", "worst"))
        return f"{middle} in the median and {worst} at worst"

    return (
        f"From presets alone, published all-to-alls err by {error('presets')}; {percent(values['presets_all_inside'])} "
        "of the cells are inside the printed range.",
        "With two cells fitted, one of 64 B on the fewest nodes and one of 1 MiB on the most, the others err by "
        f"{error('two')}. A table names the term that is missing where they err by more than a quarter.",
        f"With factors from the other machines, all cells err by {error('factors')}.",
        "No number was fitted to these times, but presets have facts of two of the machines: the latency of a pair on "
        "OCI, and the message rate of a pair and the share of its adapters that an all-to-all reaches on Alps. The "
        f"width of the range was chosen with these times: without the factor of {LIBRARY:g} for the library, "
        f"{percent(values['presets_all_narrow'])} of the cells are inside.",
    )
