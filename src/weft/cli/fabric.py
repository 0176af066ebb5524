# SPDX-License-Identifier: BSD-3-Clause
"""The verbs of ``weft fabric``."""

import sys
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Literal

from cyclopts import App, Parameter

from weft.cli.fabric_virtual import down, execute, up
from weft.cli.fit import fit, learn
from weft.cli.output import print_answer
from weft.extras import require_drawer

app = App(name="fabric", help="Look at fabrics: draw, check, import and fit them, or bring one up.")


def slurm_here(
    *command: Annotated[str, Parameter(allow_leading_hyphen=True)],
    output: Annotated[Path, Parameter(name=("--output", "-o"))] = Path("slurm-here.toml"),
    nodes: int = 4,
) -> int:
    """Start a real Slurm on this host, run a command or a shell in it, and end it.

    Nothing is left: processes, folders and the fabric file end with the command; runs are kept. Needs root.

    Parameters
    ----------
    command
        The command and its arguments, weft run contention --on slurm-here.toml; a shell by default.
    output
        The fabric file to write; goes before the command.
    nodes
        Nodes of this Slurm, 2 to 128, each a slurmd; goes before the command.
    """
    from weft.launch.slurm_here import session

    return session(command, output, lambda line: print(line, file=sys.stderr, flush=True), nodes)


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

    Parameters
    ----------
    file
        A fabric file, or the name of a shipped one (tara, yellowstone ...).
    output
        Drawing file: a name that ends in .html, .json, .svg or .png (these two need the extra figures); may be given
        several times.
    ranks
        Ranks on each node, for the hop classes; its cores by default.
    format
        text for people, or json (schema weft-fabric/1).
    """
    from weft.fabric import load_fabric
    from weft.fabric.drawing.describe import describe, ranks_by_socket
    from weft.fabric.drawing.drawing import draw_summary, save
    from weft.fabric.network.build import build_network
    from weft.fabric.summary import summarise

    fabric = load_fabric(file)
    summary = summarise(build_network(fabric), ranks_by_socket(fabric, ranks))
    print_answer({"name": fabric.name, **summary.as_tree()} if format == "json" else describe(summary, fabric.name))
    for path in output:
        save(draw_summary(summary, fabric), path)
        sys.stderr.write(f"wrote {path}\n")


@app.command
def presets(*, format: Literal["text", "json"] = "text") -> None:
    """List what [node] preset and [network] preset of a fabric file can name: numbers of data sheets.

    Parameters
    ----------
    format
        text, or json: section, name, title, values, what a model takes instead, ranges, and their sources.
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

    Parameters
    ----------
    file
        A fabric file, or the name of a shipped one (tara, yellowstone ...).
    format
        text, or json: a list of severity, what, cause, remedy.
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

    Parameters
    ----------
    dump
        Output of ibnetdiscover (plain, --full or -p), opensm-subnet.lst, ibdiagnet2.db_csv, an ibsim .net file, a CSV
        list of cables (a,a_port,b,b_port,rate), a topology.conf, scontrol show topology, or a folder with the output
        of lldpcli show neighbors -f json of each node and switch (n1.json).
    output
        The fabric file to write.
    names
        Names of adapters and switches by GUID, one "H-0002c90300080e84 node7" a line, or OpenSM's node-name-map.
    node
        Output of lstopo --of xml on one node: sockets, cores and memory.
    tables
        Forwarding tables of the same fabric: dump_fts, dump_lfts, ibroute, opensm-lfts.dump or opensm.fdbs.
    format
        The dump's format; detected by default. ports is ibnetdiscover -p.
    """
    from weft.fabric.importing import import_dump

    counts = import_dump(dump, output, names=names, node=node, form=format, tables=tables).counts
    words = {"switch": "switches", "host": "hosts", "aggregation": "SHARP aggregation nodes", "router": "routers"}
    counted = ", ".join(f"{words[kind]} {count}" for kind, count in counts.items() if count)
    sys.stdout.write(f"{output}: {counted}\nnext: weft fabric check {output}; weft fabric show {output}\n")


app.command(up)
app.command(down)
app.command(execute, name="exec")
app.command(slurm_here, name="slurm-here")
app.command(fit)
app.command(learn)
