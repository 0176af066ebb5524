# SPDX-License-Identifier: BSD-3-Clause
"""What rules the cost of one message: how it is copied inside a node, and up to which size it is sent at once."""

import re
from collections.abc import Mapping

from weft.mpi.knobs import EAGER, KNOBS, USUAL, Where, bytes_of, carries, plain, shares_memory
from weft.mpi.library import parse_library

ONCE, TWICE = "one copy, by the receiver", "copied in and out of shared memory"
#: Variables that choose how messages are copied inside a node, and the meaning of their values. Open MPI 4's numbers
#: are those of its source (btl_vader.h), which MPI_T gives; the environment has the words.
COPIES: Mapping[str, Mapping[str, str]] = {
    r"btl_(vader|sm)_single_copy_mechanism": {
        "0": f"XPMEM, {ONCE}", "1": f"CMA, {ONCE}", "2": f"KNEM, {ONCE}", "3": TWICE, "4": TWICE,
        "xpmem": ONCE, "cma": ONCE, "knem": ONCE, "none": TWICE, "emulated": TWICE,
    },
    r"smsc": {"cma": ONCE, "xpmem": ONCE, "knem": ONCE, "^cma": TWICE},
    r"MPIR_CVAR_CH4_CMA_ENABLE": {"1": f"CMA, {ONCE}", "0": TWICE},
    r"MV2_SMP_USE_CMA": {"1": f"CMA, {ONCE}", "0": TWICE},
}  # fmt: skip


def message_knobs(library: str, values: Mapping[str, str], where: Where) -> str:
    """The knobs that rule what a message costs, with their present values; the usual one where none is known.

    Parameters
    ----------
    library
        In its own words.
    values
        Names and values: ``named_settings`` of a launch, and over them its ``settings``.
    where
        Whether the messages stay inside a node, cross the network, or both.
    """
    known, family = plain(values), parse_library(library).family
    where = where if shares_memory(known) else "network"
    ways = [] if where == "network" else _copying(known)
    wheres = ("node", "network") if where == "both" else (where,)
    for each in wheres:
        ways += _eager(known, family, each) or [usual for usual in [USUAL.get((family, each), "")] if usual]
    return "; ".join(ways)


def _copying(values: Mapping[str, str]) -> list[str]:
    return [
        f"{name} = {values[name]}" + (f" ({words[values[name]]})" if values[name] in words else "")
        for pattern, words in COPIES.items()
        for name in sorted(values)
        if re.fullmatch(pattern, name)
    ]


def _eager(values: Mapping[str, str], family: str, where: str) -> list[str]:
    found: list[str] = []
    for knob in (each for each in KNOBS.get(family, ()) if each.what == EAGER and each.where == where):
        for name in sorted(values):
            size = bytes_of(values[name])
            if size and re.fullmatch(knob.pattern, name) and carries(name, values):
                found.append(f"{name} = {size:,} B")
    return found[:2]
