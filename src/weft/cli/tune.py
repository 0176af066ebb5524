# SPDX-License-Identifier: BSD-3-Clause
"""The verbs ``tune`` and ``exec``: Weft's all-to-all."""

import sys
from pathlib import Path
from typing import Annotated, Literal

from cyclopts import App, Parameter

from weft.errors import StudyError

app = App(name="tune", help="Measure which all-to-all is the fastest where, and write a selection table.")


@app.default
def tune(
    *,
    on: str = "local",
    nodes: Annotated[tuple[int, ...], Parameter(consume_multiple=True)] = (),
    ranks_per_node: int | None = None,
    sizes: Annotated[tuple[str, ...], Parameter(consume_multiple=True)] = (),
    traffic: Path | None = None,
    launches: int | None = None,
    into: Path | None = None,
    output: Annotated[Path | None, Parameter(name=("--output", "-o"))] = None,
    mpicxx: str | None = None,
    calls: Annotated[tuple[Literal["Alltoall", "Alltoallv"], ...], Parameter(consume_multiple=True)] = (),
    skew: Annotated[tuple[float, ...], Parameter(consume_multiple=True)] = (),
    predict: bool = False,
    check: bool = False,
    probe: bool = False,
    machine: Path | None = None,
) -> int:
    """Measure which all-to-all is the fastest where, and write a selection table for weft exec --table.

    The same command again continues an interrupted run. A rule is written only where an algorithm is shown to take at
    most 95 % of the library's time, at the nodes, ranks and sizes that were measured.

    Args:
      on: A fabric file, or the name of a shipped one.
      nodes: Numbers of nodes; all of the fabric by default.
      ranks_per_node: Ranks on each node; one a core by default.
      sizes: Bytes of a block: "8 B" "512 B"; by default six from 8 B to 64 KiB.
      traffic: A trace (weft trace) whose all-to-alls give the sizes, beside those of --sizes.
      launches: Number of launches; 4 by default, 1 on a simulated fabric.
      into: The run folder; runs/tune-FABRIC by default.
      output: The table, tuning.json by default; with --probe the numbers, machine.json by default.
      mpicxx: C++ compiler wrapper of the MPI to measure; by default the one on PATH.
      calls: Alltoall, Alltoallv; both by default.
      skew: Also measure Alltoallv of uneven blocks: the busiest receiver over the mean (2 4). The table then chooses by
        classes of skew, too.
      predict: Only print what the cost model expects; start nothing.
      check: Then measure auto (by the table) and all algorithms of Weft and of the library in a new run, and print the
        worst slowdown against the best of them.
      probe: Only measure the cost model's numbers: gap between messages, overhead, latency, rate, copy rate. They are
        printed beside the fabric file's and written to -o, for --machine.
      machine: A file of --probe: its numbers are those of --predict, in place of the fabric file's.
    """
    from weft.tune.whole import Asked, Tuning

    if traffic is not None:
        from weft.trace.events import block_sizes_of_trace

        sizes += tuple(f"{size} B" for size in block_sizes_of_trace(traffic))
    tuning = Tuning(on, Asked(nodes, ranks_per_node, sizes, launches, calls, skew), into, machine)
    if probe:
        return tuning.probe(output or Path("machine.json"), mpicxx)
    if predict:
        return tuning.predict()
    table = output or Path("tuning.json")
    code = tuning.go(table, mpicxx)
    return code or (tuning.check(table, mpicxx) if check else code)


@app.command
def export(
    table: Path,
    /,
    *,
    to: Literal["openmpi", "mpich"],
    output: Annotated[Path, Parameter(name=("--output", "-o"))],
    mpicxx: str | None = None,
) -> None:
    """Write a selection table as a rule file of an MPI library, for jobs without libweft.so.

    Only rules for algorithms that the library has itself can be written; the others are listed.

    Args:
      table: A selection table.
      to: openmpi (4 and 5: coll_tuned) or mpich (4 and 5).
      output: The rule file.
      mpicxx: C++ compiler wrapper of the MPICH whose own rules the file repeats; by default the one on PATH.
    """
    from weft.text import plain
    from weft.tune.rule_files import export_rules

    sys.stdout.write(plain(export_rules(table, to, output, mpicxx)))


def execute(
    *command: Annotated[str, Parameter(allow_leading_hyphen=True)],
    force: str = "",
    table: Path | None = None,
    report: Path | None = None,
    verify: int = 0,
    prewarm: bool = False,
    mpicxx: str | None = None,
) -> int:
    """Run an application with Weft's all-to-all instead of its MPI library's, without recompiling it; its exit code.

    weft exec --force "node.multi{nl=4}" -- mpirun -n 64 ./application

    Args:
      command: The starter and its arguments, after "--".
      force:
        Algorithm for every MPI_Alltoall and MPI_Alltoallv: pmpi (the library's own), flat.window{w=8}, flat.pairwise,
        bruck{r=2}, node.multi{nl=4}, node.direct{w=64}, node.bruck{r=2}, sched{file=PATH} or
        sched.matrix{w=8}.
      table: Selection table: the algorithm by operation, nodes, ranks and size.
      report: File for a report of all calls: sizes, algorithms and times.
      verify: Repeat every nth call with the MPI library, and fail if the results differ.
      prewarm: Connect all pairs of ranks in MPI_Init.
      mpicxx: C++ compiler wrapper of the application's MPI; the one beside the starter by default.

    Raises:
      StudyError: There is no command.
    """
    from weft.launch.preload import INTERPOSER, build_preload, mpi_of, run_preloaded, settings

    if not command:
        raise StudyError("weft exec has no command", "weft exec -- mpirun -n 4 ./application")
    variables = settings(force, table, report, verify, prewarm)
    mpi = mpi_of(command, mpicxx)
    library = build_preload(INTERPOSER, mpi, lambda line: print(line, file=sys.stderr))
    sys.stdout.flush()
    code, _, warning = run_preloaded(library, command, variables, mpi, hands_on=False)
    if warning:
        sys.stderr.write(f"weft: {warning}\n")
    return code
