# SPDX-License-Identifier: BSD-3-Clause
"""The verbs ``weft fabric fit`` and ``learn``."""

from pathlib import Path
from typing import Annotated, Literal

from cyclopts import Parameter


def learn(
    *,
    on: str,
    output: Annotated[Path | None, Parameter(name=["--output", "-o"])] = None,
    ranks_per_node: int | None = None,
    into: Path | None = None,
    against: Annotated[tuple[Path, ...], Parameter(consume_multiple=True)] = (),
    model: Literal["simulation", "bound"] = "simulation",
) -> int:
    """Probe one node pair of a machine for two minutes, and write its fabric file with the numbers found.

    Prints the error of the written file on cells of more nodes as soon as a run has some. The same command again
    continues the probe, or only computes the error.

    Parameters
    ----------
    on
        A fabric file, or the name of a shipped one.
    output
        The fabric file to write; FABRIC-learnt.toml by default.
    ranks_per_node
        Ranks on each node; one a core by default.
    into
        The probe is the run INTO-probe; runs/tune-FABRIC-probe by default.
    against
        Runs of the kernel exchange to hold the file against; by default all of this fabric below runs.
    model
        simulation (needs SimGrid; takes seconds per cell), or bound: the closed form, immediate.
    """
    from weft.tune.learn import learn as measure

    path = output or Path(f"{Path(on).stem}-learnt.toml")
    return measure(on, path, ranks_per_node, into, against, model == "simulation")


def fit(
    fabric: str,
    /,
    *,
    to: Annotated[Path, Parameter(name="--to")],
    parameters: str = "copy_rate,adapter_rate,overhead",
    cells: str = "",
    calls: str = "C",
    model: Literal["simulation", "bound"] = "simulation",
    output: Annotated[Path | None, Parameter(name=["--output", "-o"])] = None,
) -> None:
    """Fit a few numbers of a fabric to measured cells, and predict the other cells.

    A fabric of another kind is modelled as a simulated one; values that its file does not state are taken from the run:
    a node's copy rate, the shortest message, the library whose algorithms ran.

    Prints for each cell whether it was fitted or predicted, and its error; and the error on cells not seen by the fit.

    Parameters
    ----------
    fabric
        A fabric file, or the name of a shipped one.
    to
        Measured cells: a run folder, or a table (.toml with [[cell]], .csv) of nodes, ranks_per_node, n, m, seconds.
    parameters
        Parameters to fit: copy_rate, adapter_rate, link_rate (between switches of a tree), overhead,
        message_gap, rendezvous_stall, latency, connection_cost.
    cells
        Names of the cells to fit to, separated by commas; by default a set that determines all parameters.
    calls
        Calls whose cells are fitted and predicted, separated by commas: A and B move a few bytes, C whole vectors.
    model
        simulation (needs SimGrid; takes seconds per cell), or bound: the closed form, immediate.
    output
        Write the fabric with the fitted numbers to this file, each with its source.
    """
    from weft.fabric import load_fabric
    from weft.fit.inputs import read_cells
    from weft.fit.machine import machine_of
    from weft.fit.run import describe_fit, fit_cells, write_fitted
    from weft.run.refresh import refresh
    from weft.text import console

    given = load_fabric(fabric)
    if to.is_dir():
        refresh(to)
    machine, filled = machine_of(given, to)
    out, simulated = console(), model == "simulation"
    names, chosen = ([name.strip() for name in text.split(",") if name.strip()] for text in (parameters, cells))
    wanted = "".join(letter for letter in calls.upper() if letter in "ABC")
    measured = read_cells(to, wanted)
    result = fit_cells(machine, measured, names, chosen, simulate=simulated, say=out.print)
    if output:
        write_fitted(given, result, output, simulated=simulated, filled=filled)
    out.print(describe_fit(result, machine.name, simulated=simulated))
    if output:
        out.print(f"wrote {output}")
