# SPDX-License-Identifier: BSD-3-Clause
"""Names of lines in the report: one operation of a cell over its sizes."""

from collections.abc import Mapping
from typing import Any

from weft.mpi.algorithms import DEFAULT

#: Where the messages of a sweep lie, by the study's word for it; "cold" alone means a first call.
CACHES = {"hot": "from cache", "cold": "from memory"}


def line_name(call: str, parameters: Mapping[str, Any]) -> str:
    """MPI's name of a call, or the pattern of a bandwidth: ``MPI_Alltoallv, linear``, ``inter-node, from memory``."""
    if "collective" in parameters:
        collective, *rest = call.split("-")
        algorithm = parameters.get("algorithm", DEFAULT)
        return ", ".join([f"MPI_{collective.capitalize()}", *rest, *([algorithm] if algorithm != DEFAULT else [])])
    hops = f", {parameters['hops']} hops" if "hops" in parameters else ""
    cache = f", {CACHES[parameters['cache']]}" if parameters.get("cache") else ""
    return f"{parameters.get('pattern', call)}{hops}{cache}"


def cell_place(nodes: int, ranks: int, oversubscribed: bool) -> str:
    """``N = 1, p = 4``, with a star if ranks share cores."""
    return f"N = {nodes}, p = {ranks}{' *' if oversubscribed else ''}"
