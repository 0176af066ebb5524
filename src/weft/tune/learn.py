# SPDX-License-Identifier: BSD-3-Clause
"""A machine learnt from one node pair: the probe's numbers in a fabric file, and its error on larger runs."""

import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from weft.errors import DataError, FabricError, StudyError
from weft.fabric.model import Fabric, load_fabric
from weft.fabric.numbers import with_number
from weft.files.atomic import write_atomic
from weft.fit.inputs import MeasuredCell, read_cells
from weft.fit.run import Filled, bound_model, filled_text, machine_of, refuse_path, simulation_model, write_value
from weft.format import format_seconds, percent, plural, relative_error
from weft.report.tabular import Table, Words, make_table, terminal
from weft.run.folder import latest_first
from weft.run.refresh import refresh
from weft.store.folder import RunFolder
from weft.text import console, plain
from weft.tune.model import Probed
from weft.tune.whole import Asked, Tuning

PAIR = 2
CALL = "C"  # the call of `weft fabric fit`: whole vectors


def learn(on: str, output: Path, ranks: int | None, into: Path | None, against: Sequence[Path], simulate: bool) -> int:
    """Probe a node pair of a fabric and write what it found; the exit code. StudyError for one node, or WeftError."""
    tuning = Tuning(on, Asked(ranks_per_node=ranks), into)
    fabric = tuning.fabric
    if len(fabric.hosts) < PAIR:
        raise StudyError(f"{fabric.name} has one node: a network is probed between two", "name a fabric of two or more")
    given = load_fabric(on)
    refuse_path(given, output)
    code, view, found = tuning.measure_probe()
    machine, filled = machine_of(given, view.path)
    source = f"fitted to the probe {view.path.name} on {PAIR} of {len(fabric.hosts)} nodes (weft fabric learn)"
    numbers = numbers_of(found)
    for key, value in numbers.items():
        machine = with_number(machine, key, value)
    cells = larger_cells(fabric, against)
    errors = modelled_errors(machine, cells, simulate=simulate)
    known = f"error on more than {PAIR} nodes: unknown until a run of the kernel exchange on {fabric.name} has more"
    if errors:
        mean = float(np.mean(np.abs(list(errors.values()))))
        source += f"; error on unseen cells {percent(mean)}"
        known = f"mean error on {plural(len(errors), 'cell')} of more nodes: {percent(mean)}"
        console(120).print(terminal(errors_table(fabric.name, cells, errors)))
    units = {key: "B/s" if key.endswith("rate") else "s" for key in numbers}
    learnt = [Filled(key, write_value(value, units[key]), source) for key, value in numbers.items()]
    kept = [entry for entry in filled if entry.key not in numbers]
    write_atomic(output, filled_text(given.text, (*kept, *learnt)).encode())
    load_fabric(output)
    sys.stdout.write(plain(f"{known}\nwrote {output}\n"))
    return code


def numbers_of(found: Probed) -> dict[str, float]:
    """The probe's numbers by key of a fabric file; those that it found to be zero are left out."""
    values = {
        "node.copy_rate": found.copy_rate_bytes_per_s,
        "network.adapter_rate": found.rate_bytes_per_s,
        "network.overhead": found.overhead_s,
        "network.message_gap": found.gap_s,
        "network.latency": found.one_way_s - found.overhead_s,
    }
    return {key: value for key, value in values.items() if value > 0}


def larger_cells(fabric: Fabric, against: Sequence[Path]) -> list[MeasuredCell]:
    """Measured cells on more than two nodes, of these runs or of all runs on the fabric below ``runs``."""
    found: dict[str, MeasuredCell] = {}
    for path in against or latest_first():
        try:
            if against or RunFolder(path).metadata().get("fabric") == fabric.name:
                refresh(path)
                for cell in read_cells(path, CALL):
                    if cell.nodes > PAIR and cell.call == CALL:
                        found.setdefault(cell.label, cell)  # the newest run comes first
        except (DataError, FabricError, StudyError):
            if against:
                raise
    return list(found.values())


def modelled_errors(machine: Fabric, cells: Sequence[MeasuredCell], *, simulate: bool) -> dict[str, float]:
    """Relative error of the modelled time of each cell, by its name."""
    if not cells:
        return {}
    with tempfile.TemporaryDirectory(prefix="weft-learn-") as scratch:
        model = bound_model(machine, {}, cells)
        if simulate:
            model = simulation_model(machine, {}, cells, Path(scratch), console(stderr=True).print)
        times = model(np.empty(0), range(len(cells)))
    return {cell.label: float(time) / cell.seconds - 1 for cell, time in zip(cells, times, strict=True)}


def errors_table(name: str, cells: Sequence[MeasuredCell], errors: dict[str, float]) -> Table:
    """Measured and modelled times of the larger cells."""
    return make_table(
        f"{name}: predicted from two nodes", cells,
        (Words("cell"), "", lambda cell: cell.label), ("measured", "", lambda cell: format_seconds(cell.seconds)),
        ("model", "", lambda cell: format_seconds(cell.seconds * (1 + errors[cell.label]))),
        ("error", "", lambda cell: relative_error(errors[cell.label])),
    )  # fmt: skip
