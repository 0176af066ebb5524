# SPDX-License-Identifier: BSD-3-Clause
"""The all-to-all algorithms of ``native/alltoall`` and their specs: ``node.multi{nl=4}``."""

import re
from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import AfterValidator, BeforeValidator, Field

from weft.files.reading import as_list
from weft.mpi.algorithms import DEFAULT

#: Name -> pattern of each of its parameters. The library itself refuses values out of range.
PARAMETERS: Mapping[str, Mapping[str, str]] = {
    "pmpi": {},
    "flat.window": {"w": r"\d+", "order": "shift|xor|node-rotated|permuted", "bytes_in_flight": r"\d+ ?([KMG]i)?B?"},
    "flat.pairwise": {},
    "bruck": {"r": r"\d+"},
    "node.multi": {"nl": r"\d+", "stages": r"\d+"},
    "node.direct": {"w": r"\d+"},
    "node.bruck": {"r": r"\d+"},
    "sched": {"file": ".+"},
    "sched.matrix": {"w": r"\d+"},
}
COMBINING = frozenset({"bruck", "node.multi", "node.direct", "node.bruck"})
"""Algorithms that put blocks for several ranks into one message."""
PMPI = "pmpi"
AUTO = "auto"
_SPEC = re.compile(r"([\w.]+)(?:\{(.*)\})?")


def check_spec(text: str) -> str:
    """The spec of an algorithm of ``native/alltoall``, or ``default``; ValueError names what there is."""
    found = _SPEC.fullmatch(text)
    if text == DEFAULT:
        return text
    if found is None or found[1] not in PARAMETERS:
        raise ValueError(f"no all-to-all algorithm is named {text!r}: there are {DEFAULT}, {', '.join(PARAMETERS)}")
    known = PARAMETERS[found[1]]
    for pair in filter(None, (each.strip() for each in (found[2] or "").split(","))):
        name, _, value = pair.partition("=")
        if name not in known or not re.fullmatch(known[name], value):
            there = ", ".join(f"{each}={pattern}" for each, pattern in known.items()) or "none"
            raise ValueError(f"{found[1]} cannot take {pair!r}: its parameters are {there}")
    return text


def check_forced(text: str) -> str:
    """As :func:`check_spec`, but for the library's variables: ValueError also for ``default``."""
    if text == DEFAULT:
        raise ValueError(f"libweft has no algorithm {DEFAULT!r}: the MPI library's own is pmpi")
    return check_spec(text)


def is_own(algorithm: str) -> bool:
    """Whether a name is that of an algorithm of ``native/alltoall``, not of the MPI library."""
    return algorithm.partition("{")[0] in PARAMETERS


def combines(algorithm: str) -> bool:
    """Whether a spec is of an algorithm that puts blocks for several ranks into one message."""
    return algorithm.partition("{")[0] in COMBINING


def _distinct(specs: tuple[str, ...]) -> tuple[str, ...]:
    if len(set(specs)) != len(specs):
        raise ValueError("algorithm holds one name twice")
    return specs


AlgorithmSpec = Annotated[str, AfterValidator(check_spec)]
"""One algorithm."""
AlgorithmSpecs = Annotated[
    tuple[Annotated[str, AfterValidator(lambda text: text if text == AUTO else check_spec(text))], ...],
    BeforeValidator(as_list),
    AfterValidator(_distinct),
    Field(min_length=1, max_length=100),
]
"""One algorithm or a list of them, for a kernel that takes a selection table too."""


def chosen(algorithm: str) -> dict[str, Any]:
    """A cell's values for an algorithm: none for the library's own choice."""
    return {} if algorithm == DEFAULT else {"algorithm": algorithm}
