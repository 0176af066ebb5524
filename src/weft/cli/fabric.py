# SPDX-License-Identifier: BSD-3-Clause
"""The verbs of ``weft fabric``."""

import os
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Literal

from cyclopts import App, Parameter

from weft.cli.output import print_answer
from weft.errors import LaunchError
from weft.extras import require_drawer

app = App(name="fabric", help="Look at fabrics: draw, check, import and fit them, or bring one up.")


@app.command
def show(
    file: str,
    /,
    *,
    output: Annotated[tuple[Path, ...], Parameter(name=("--output", "-o"), validator=require_drawer)] = (),
    ranks: int | None = None,
    format: Literal["text", "json"] = "text",
) -> None:
    """Draw a fabric and print its properties: bisection, oversubscription, hop classes, all-to-all.

    Args:
      file: A fabric file, or the name of a shipped one (tara, yellowstone ...).
      output:
        Drawing file: a name that ends in .html, .json, .svg or .png (these two need the extra figures); may be given
        several times.
      ranks: Ranks on each node, for the hop classes; its cores by default.
      format: text for people, or json (schema weft-fabric/1).
    """
    from weft.fabric import load_fabric
    from weft.fabric.drawing.describe import describe, ranks_by_socket
    from weft.fabric.network.build import build_network
    from weft.fabric.summary import Summary

    fabric = load_fabric(file)
    summary = Summary(build_network(fabric), ranks_by_socket(fabric, ranks))
    print_answer({"name": fabric.name, **summary.as_tree()} if format == "json" else describe(summary, fabric.name))
    for path in output:
        from weft.fabric.drawing.drawing import draw_summary, save

        save(draw_summary(summary, fabric), path)
        sys.stderr.write(f"wrote {path}\n")


@app.command
def presets(*, format: Literal["text", "json"] = "text") -> None:
    """List what [node] preset and [network] preset of a fabric file can name: numbers of data sheets.

    Args:
      format: text, or json: section, name, title, values, what a model takes instead, ranges, and their sources.
    """
    from weft.fabric.drawing.describe import preset_tables
    from weft.fabric.presets import SECTIONS
    from weft.fabric.presets import presets as known

    if format == "json":
        print_answer([asdict(preset) for section in SECTIONS for preset in known(section)])
        return
    for table in preset_tables():
        print_answer(table)


@app.command
def check(file: str, /, *, format: Literal["text", "json"] = "text") -> int:
    """Find inconsistencies in a fabric file or its dump. Exit code 1 if there is an error.

    Args:
      file: A fabric file, or the name of a shipped one (tara, yellowstone ...).
      format: text, or json: a list of severity, what, cause, remedy.
    """
    from weft.fabric import load_fabric
    from weft.fabric.checks import check_fabric
    from weft.fabric.drawing.describe import show_findings
    from weft.text import console

    fabric = load_fabric(file)
    findings = check_fabric(fabric)
    if format == "json":
        print_answer([asdict(finding) for finding in findings])
    else:
        show_findings(fabric.name, findings, console())
    return int(any(finding.severity == "error" for finding in findings))


@app.command(name="import")
def import_(
    dump: Path,
    /,
    *,
    output: Annotated[Path, Parameter(name=("--output", "-o"))],
    names: Path | None = None,
    node: Path | None = None,
    tables: Path | None = None,
    format: Literal["ibnetdiscover", "ports", "slurm", "ibsim", "subnet-list", "ibdiagnet", "edges", "lldp"]
    | None = None,
) -> None:
    """Make a fabric file from a dump; the dump is copied beside it.

    Args:
      dump:
        Output of ibnetdiscover (plain, --full or -p), opensm-subnet.lst, ibdiagnet2.db_csv, an ibsim .net file, a CSV
        list of cables (a,a_port,b,b_port,rate), a topology.conf, scontrol show topology, or a folder with the output
        of lldpcli show neighbors -f json of each node and switch (n1.json).
      output: The fabric file to write.
      names: Names of adapters and switches by GUID, one "H-0002c90300080e84 node7" a line, or OpenSM's node-name-map.
      node: Output of lstopo --of xml on one node: sockets, cores and memory.
      tables: Forwarding tables of the same fabric: dump_fts, dump_lfts, ibroute, opensm-lfts.dump or opensm.fdbs.
      format: The dump's format; detected by default. ports is ibnetdiscover -p.
    """
    from weft.fabric.importing import import_dump

    counts = import_dump(dump, output, names=names, node=node, form=format, tables=tables).counts
    words = {"switch": "switches", "host": "hosts", "aggregation": "SHARP aggregation nodes", "router": "routers"}
    counted = ", ".join(f"{words[kind]} {count}" for kind, count in counts.items() if count)
    sys.stdout.write(f"{output}: {counted}\nnext: weft fabric check {output}; weft fabric show {output}\n")


@app.command
def up(file: str = "virtual-default", /) -> None:
    """Bring a virtual fabric up; it stays until ``weft fabric down``.

    ``weft run`` does not need this: it brings up its own. Use it to look around, and to try programs.

    Args:
      file: A fabric file of kind virtual, or the name of one that ships with Weft.

    Raises:
      LaunchError: A fabric of that name is up already, or it cannot be brought up.
    """
    from weft.fabric import load_fabric
    from weft.launch.virtual.cluster import Cluster, usage
    from weft.launch.virtual.spec import spec_of, too_fast

    spec = spec_of(load_fabric(file))
    if any(cluster.spec.name == spec.name for cluster in Cluster.standing()):
        raise LaunchError(f"{spec.name} is up already", f"weft fabric down {spec.name}")
    if warning := too_fast(spec, len(os.sched_getaffinity(0))):
        print(f"warning: {warning}", file=sys.stderr)
    Cluster.start(spec, standing=True)
    print(usage(spec, file))


@app.command
def down(name: str = "", /, *, everything: Annotated[bool, Parameter(name="--all")] = False) -> None:
    """Take a virtual fabric down, with all processes on it.

    Args:
      name: Name of the fabric; may be left out if only one is up.
      everything: Take down all of your virtual fabrics.
    """
    from weft.launch.virtual.cluster import Cluster

    for cluster in Cluster.standing() if everything else [Cluster.find(name)]:
        cluster.close()
        print(f"{cluster.spec.name} is down")


@app.command(name="exec")
def execute(
    node: str,
    /,
    *command: Annotated[str, Parameter(allow_leading_hyphen=True)],
    fabric: Annotated[str, Parameter(name="--fabric")] = "",
) -> int:
    """Run a command on a host of a fabric that is up; a shell by default.

    Args:
      node: Name of the host, e.g. node0.
      command: The command and its arguments.
      fabric: Name of the fabric; may be left out if only one is up. Goes before the node.
    """
    from weft.launch.virtual.cluster import Cluster
    from weft.launch.virtual.launcher import anywhere

    words = Cluster.find(fabric).command(node, command or (os.environ.get("SHELL", "sh"),))
    sys.stdout.flush()
    # the command's own exit code and signals, without Weft in between
    os.execvpe(words[0], words, {**os.environ, **anywhere()})


@app.command(name="slurm-here")
def slurm_here(
    *command: Annotated[str, Parameter(allow_leading_hyphen=True)],
    output: Annotated[Path, Parameter(name=("--output", "-o"))] = Path("slurm-here.toml"),
    nodes: int = 4,
) -> int:
    """Start a real Slurm on this host, run a command or a shell in it, and end it.

    Nothing is left: processes, folders and the fabric file end with the command; runs are kept. Needs root.

    Args:
      command: The command and its arguments, weft run contention --on slurm-here.toml; a shell by default.
      output: The fabric file to write; goes before the command.
      nodes: Nodes of this Slurm, 2 to 128, each a slurmd; goes before the command.
    """
    from weft.launch.slurm_here import session

    return session(command, output, lambda line: print(line, file=sys.stderr, flush=True), nodes)


@app.command
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

    Args:
      fabric: A fabric file, or the name of a shipped one.
      to: Measured cells: a run folder, or a table (.toml with [[cell]], .csv) of nodes, ranks_per_node, n, m, seconds.
      parameters: Parameters to fit: copy_rate, adapter_rate, link_rate (between switches of a tree), overhead,
        message_gap, rendezvous_stall, latency, connection_cost.
      cells: Names of the cells to fit to, separated by commas; by default a set that determines all parameters.
      calls: Calls whose cells are fitted and predicted, separated by commas: A and B move a few bytes, C whole vectors.
      model: simulation (needs SimGrid; takes seconds per cell), or bound: the closed form, immediate.
      output: Write the fabric with the fitted numbers to this file, each with its source.
    """
    from weft.fabric import load_fabric
    from weft.fit.inputs import read_cells
    from weft.fit.run import describe_fit, fit_cells, machine_of, write_fitted
    from weft.run.refresh import refresh
    from weft.text import console

    given = load_fabric(fabric)
    if to.is_dir():
        refresh(to)
    machine, filled = machine_of(given, to)
    out, simulated = console(), model == "simulation"
    names, chosen = ([name.strip() for name in text.split(",") if name.strip()] for text in (parameters, cells))
    measured = read_cells(to, "".join(letter for letter in calls.upper() if letter in "ABC"))
    result = fit_cells(machine, measured, names, chosen, simulate=simulated, say=out.print)
    if output:
        write_fitted(given, result, output, simulated=simulated, filled=filled)
    out.print(describe_fit(result, machine.name, simulated=simulated))
    if output:
        out.print(f"wrote {output}")


@app.command
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

    Args:
      on: A fabric file, or the name of a shipped one.
      output: The fabric file to write; FABRIC-learnt.toml by default.
      ranks_per_node: Ranks on each node; one a core by default.
      into: The probe is the run INTO-probe; runs/tune-FABRIC-probe by default.
      against: Runs of the kernel exchange to hold the file against; by default all of this fabric below runs.
      model: simulation (needs SimGrid; takes seconds per cell), or bound: the closed form, immediate.
    """
    from weft.tune.whole import learn as measure

    path = output or Path(f"{Path(on).stem}-learnt.toml")
    return measure(on, path, ranks_per_node, into, against, model == "simulation")
