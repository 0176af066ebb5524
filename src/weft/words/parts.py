# SPDX-License-Identifier: BSD-3-Clause
"""Names of parts of a machine and of places in a study, as people say them."""

from weft.bound.terms import COPY, INJECTION, LINK


def name_part(name: str) -> str:
    """A bound or link: ``uplink of leaf0``, ``memory copy``, ``node adapters``."""
    if name in (INJECTION, COPY):
        return {INJECTION: "node adapters", COPY: "memory copy"}[name]
    place, _, way = name.removeprefix(LINK).strip().rpartition(" ")
    if name.startswith(LINK) and place and way in ("up", "down"):
        return f"{way}link of {place}"
    return name


def name_call(call: str) -> str:
    """An operation as MPI names it: ``MPI_Alltoallv(m-vector)`` of ``C``; others keep their own name."""
    return {"A": "MPI_Alltoall(int)", "B": "MPI_Alltoallv(int)", "C": "MPI_Alltoallv(m-vector)"}.get(call, call)
