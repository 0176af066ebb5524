# SPDX-License-Identifier: BSD-3-Clause
"""The verb ``whatif``."""

from pathlib import Path


def whatif(trace: Path, /, *, on: str = "tara", nodes: int | None = None, compute: str = "x1") -> int:
    """Replay a traced application on a simulated machine, and on the same with one thing changed: what would help.

    Unchanged, the best nodes by the routes, a node-aware all-to-all, twice the uplinks, adapters of twice the rate,
    half the ranks on a node, better forwarding tables; and what no network could improve on. Each line has its level
    (simulated, static loads, closed form) and that level's known error. The same command again continues where it
    stopped.

    Parameters
    ----------
    trace
        The folder of weft trace.
    on
        A simulated fabric: a file, or the name of a shipped one.
    nodes
        Number of nodes, which share the ranks equally; by default as few as have a core for each rank.
    compute
        Time between calls, as a multiple of the traced one: x0.5 for processors of twice the speed.

    Raises
    ------
    StudyError
        --compute is no multiple, or --nodes no number of nodes.
    """
    from weft.trace.replay import factor_of
    from weft.whatif.whole import what_if

    return what_if(trace, on, nodes, factor_of(compute, nodes))
