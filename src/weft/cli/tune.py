# SPDX-License-Identifier: BSD-3-Clause
"""The verb ``tune``."""

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter


def tune(
    *,
    on: str = "local",
    nodes: Annotated[tuple[int, ...], Parameter(consume_multiple=True, negative="")] = (),
    ranks_per_node: int | None = None,
    sizes: Annotated[tuple[str, ...], Parameter(consume_multiple=True, negative="")] = (),
    launches: int | None = None,
    into: Path | None = None,
    output: Annotated[Path, Parameter(name=("--output", "-o"))] = Path("tuning.json"),
    mpicxx: str | None = None,
    predict: Annotated[bool, Parameter(negative="")] = False,
) -> int:
    """Measure which all-to-all is the fastest where, and write a selection table for weft exec --table.

    The same command again continues an interrupted run. A rule is written only where an algorithm is shown to take at
    most 95 % of the library's time, at the nodes, ranks and sizes that were measured.

    Parameters
    ----------
    on
        A fabric file, or the name of a shipped one.
    nodes
        Numbers of nodes; all of the fabric by default.
    ranks_per_node
        Ranks on each node; one a core by default.
    sizes
        Bytes of a block: "8 B" "512 B"; by default six from 8 B to 64 KiB.
    launches
        Number of launches; 4 by default, 1 on a simulated fabric.
    into
        The run folder; runs/tune-FABRIC by default.
    output
        The table.
    mpicxx
        C++ compiler wrapper of the MPI to measure; by default the one on PATH.
    predict
        Only print what the cost model expects; start nothing.
    """
    from weft.tune.whole import Tuning

    tuning = Tuning(on, nodes, ranks_per_node, sizes, launches, into)
    return tuning.predict() if predict else tuning.go(output, mpicxx)
