# SPDX-License-Identifier: BSD-3-Clause
"""Tables 4.2 and 4.4 from data sheets: nominal rate and SimGrid's InfiniBand model, and presets, nothing fitted."""

import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Literal

import numpy as np

from weft.errors import FabricError
from weft.fabric import Fabric, load_fabric
from weft.fabric.presets import with_presets
from weft.files.reading import parse_toml, validate
from weft.fit.inputs import MeasuredCell
from weft.fit.run import fit_cells, simulation_model
from weft.format import format_rate, format_seconds, measured_seconds, percent, relative_error
from weft.papers import PARTS, Bench, Part
from weft.papers.tables import both_tables, cells, errors
from weft.report.tabular import Table

Model = Literal["fair", "infiniband"]
MODELS: tuple[Model, ...] = ("fair", "infiniband")
OTHER_RATE = 20e9  # bytes a second: five eighths of the memory's rate in place of four fifths, halved
PRESETS = {"node": "xeon-x5550", "network": "qdr-infiniband"}
NOMINAL = 3.5e9  # paper 000, section 2.1: quad-data-rate InfiniBand, "up to 3.5 GB/s"
FITTED = ["copy_rate", "overhead"]


def from_sheets(model: Model) -> Fabric:
    """Tara with the shape that its paper states and the numbers of presets."""
    tara = load_fabric("tara")
    tree = parse_toml(tara.text, str(tara.path), FabricError)
    node, network = tree["node"], tree["network"]
    shape = {key: network["tree"][key] for key in ("nodes_per_leaf", "uplinks")}
    bare = {
        "name": f"tara-sheets-{model}",
        "kind": tree["kind"],
        "node": {"names": node["names"], "memory": node["memory"], "preset": PRESETS["node"]},
        "network": {"preset": PRESETS["network"], "topology": network["topology"], "tree": shape},
        "simulation": {"collectives": tree["simulation"]["collectives"], "model": model},
    }
    return validate(Fabric, with_presets(bare), str(tara.path), FabricError)


def _relative_errors(cells: Sequence[MeasuredCell], seconds: Sequence[float]) -> list[float]:
    return [found / cell.seconds - 1 for cell, found in zip(cells, seconds, strict=True)]


def simulate(cells: list[MeasuredCell], say: Callable[[str], None]) -> dict[Model, list[float]]:
    """Simulated seconds of the cells under each of SimGrid's models."""
    with tempfile.TemporaryDirectory(prefix="weft-sheets-") as scratch:
        found: dict[Model, list[float]] = {}
        for each in MODELS:
            model = simulation_model(from_sheets(each), {}, cells, Path(scratch), say)
            found[each] = model(np.array([]), range(len(cells))).tolist()
        return found


def values_of(cells: list[MeasuredCell], found: dict[Model, list[float]]) -> dict[str, float]:
    """Mean and largest absolute relative error of each model."""
    values: dict[str, float] = {}
    for model, seconds in found.items():
        sizes = [abs(error) for error in _relative_errors(cells, seconds)]
        values |= {f"sheet_{model}_mean": sum(sizes) / len(sizes), f"sheet_{model}_largest": max(sizes)}
    return values


def table(cells: list[MeasuredCell], found: dict[Model, list[float]]) -> Table:
    """All cells, paper and both models side by side."""
    errors = {model: _relative_errors(cells, seconds) for model, seconds in found.items()}
    rows = tuple(
        (
            cell.label, f"{cell.seconds:.2f} s",
            *(text for m in MODELS for text in (measured_seconds(found[m][at]), relative_error(errors[m][at], 0))),
        )
        for at, cell in enumerate(cells)
    )  # fmt: skip
    title = "Nothing fitted: presets xeon-x5550 and qdr-infiniband (simulated)"
    return Table(title, ("cell", "paper", "fair", "error", "infiniband", "error"), rows)


def copies_sentence(cells: Sequence[MeasuredCell], found: dict[Model, list[float]]) -> str:
    """What the largest errors come from where they are those of cells on one node; empty where they are not."""
    sizes = ([abs(error) for error in _relative_errors(cells, seconds)] for seconds in found.values())
    worst, *others = {each.index(max(each)) for each in sizes}
    cell, rate = cells[worst], from_sheets("fair").node.copy_rate
    if others or cell.nodes > 1 or not rate:
        return ""
    asked = rate * found["fair"][worst] / cell.seconds
    return (
        f"The worst cell is {cell.label}, where nothing leaves the node, so its error is the copy rate's alone: the "
        f"preset has {format_rate(rate)}, worked out from the memory's data sheet, and the paper's time asks for "
        f"{format_rate(asked)}. With {format_rate(OTHER_RATE)} taken from the same data sheet it would be "
        f"{percent(abs(asked / OTHER_RATE - 1))}."
    )


def sentence(values: dict[str, float]) -> str:
    """What data sheets alone are worth, as a sentence."""
    listed = ", ".join(
        f"{values[f'sheet_{m}_mean']:.0%} in the mean and {values[f'sheet_{m}_largest']:.0%} at worst by {m}"
        for m in MODELS
    )
    return (
        f"With nothing fitted, from the presets of processor and adapter alone, the nine cells err by {listed}. A copy "
        "takes several times as long as the memory's data sheet lets expect, and messages cost their sender more than "
        "any data sheet says."
    )


def nominal() -> Fabric:
    """The machine tara with the nominal rate of its adapters and SimGrid's penalties; FabricError without a network."""
    fabric = load_fabric("tara")
    if fabric.network is None or fabric.simulation is None:
        raise FabricError(f"{fabric.path} has no network or simulation", "install Weft again")
    network = fabric.network.model_copy(update={"adapter_rate": NOMINAL})
    simulation = fabric.simulation.model_copy(update={"model": "infiniband", "connection_cost": 0.0})
    return fabric.model_copy(update={"network": network, "simulation": simulation})


def compute(bench: Bench) -> Part:
    """Fit the parameters that data sheets do not state, and predict the other cells."""
    found = fit_cells(nominal(), cells(), FITTED, [], simulate=True, say=bench.say)
    largest, mean = errors(found)
    copies, asking = (found.parameters[name] for name in FITTED)
    sentences = (
        f"Two cells fitted, {len(found.cells) - 2} predicted: each within {percent(largest)}, {percent(mean)} in "
        f"the mean, with the nominal {format_rate(NOMINAL)} and no parameter of the network's rate.",
        f"Fitted were what no data sheet says: a node copies {format_rate(copies)}, and each message costs its "
        f"sender {format_seconds(asking)}. The penalties are SimGrid's own, from another machine.",
    )
    alone = simulate(nine := cells(), bench.say)
    of_alone = values_of(nine, alone)
    said = (*sentences, *filter(None, (sentence(of_alone), copies_sentence(nine, alone))))
    values = {"largest": largest, "mean": mean, "copy_rate": copies, "overhead": asking, **of_alone}
    return Part("datasheet", PARTS["datasheet"], said, (*both_tables(found), table(nine, alone)), values)
