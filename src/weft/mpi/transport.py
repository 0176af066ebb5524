# SPDX-License-Identifier: BSD-3-Clause
"""What rules the cost of one message of a size: how often it is copied inside a node, and the limits near its size."""

import re
from collections.abc import Mapping, Sequence

from weft.mpi import knobs
from weft.mpi.knobs import EAGER, KNOBS, PIECES, USUAL, Knob, Where
from weft.mpi.library import parse_library

ONCE, TWICE = "one copy, by the receiver through the kernel", "copied in and out of shared memory"
MAPPED = "one copy, from pages of the sender that the receiver maps"
#: Variables that choose how messages are copied inside a node, and the meaning of their values. Open MPI 4's numbers
#: are those of its source (btl_vader.h), which MPI_T gives; the environment has the words.
COPIES: Mapping[str, Mapping[str, str]] = {
    r"btl_(vader|sm)_single_copy_mechanism": {
        "0": f"XPMEM, {MAPPED}", "1": f"CMA, {ONCE}", "2": f"KNEM, {ONCE}", "3": TWICE, "4": TWICE,
        "xpmem": MAPPED, "cma": ONCE, "knem": ONCE, "none": TWICE, "emulated": TWICE,
    },
    r"MPIR_CVAR_CH4_XPMEM_ENABLE": {"1": f"XPMEM, {MAPPED}"},
    r"MPIR_CVAR_CH4_CMA_ENABLE": {"1": f"CMA, {ONCE}", "0": TWICE},
    r"MV2_SMP_USE_CMA": {"1": f"CMA, {ONCE}", "0": TWICE},
}  # fmt: skip
#: Open MPI 5's mechanisms (framework smsc), the one that it prefers first. Only the one in use keeps its variables.
MECHANISMS: Mapping[str, str] = {"xpmem": f"XPMEM, {MAPPED}", "knem": f"KNEM, {ONCE}", "cma": f"CMA, {ONCE}"}
LARGEST_USUAL = 4 * 2**16  # no library sends over 64 KiB at once by default: beyond four of these no limit matters
MOST = 2  # of several knobs that could matter the most likely are named


def message_knobs(library: str, values: Mapping[str, str], where: Where, block_bytes: int) -> str:
    """What rules the cost of a message, with present values: the copies inside a node, and limits that can matter. The
    usual knob stands for the limits where no value is known; nothing does where all are known and none matters.
    """
    known, family = knobs.plain(values), parse_library(library).family
    where = where if knobs.shares_memory(known) else "network"
    ways: list[str] = []
    for each in ("node", "network") if where == "both" else (where,):
        limits = _limits(known, family, each)
        copies = _copying(known, limits, block_bytes) if each == "node" else []
        in_pieces = each == "network" or any(TWICE in text for text in copies)
        able = (limit for limit in limits if in_pieces or limit[2].what != PIECES)
        near = [f"{name} = {size:,} B" for name, size, knob in able if knobs.matters(knob, size, block_bytes)]
        usual = USUAL.get((family, each), "") if not limits and block_bytes <= LARGEST_USUAL else ""
        ways += [*copies, *(near[:MOST] or filter(None, [usual]))]
    return "; ".join(ways) or "how the transport moves long messages: no limit is near their size"


def _copying(values: Mapping[str, str], limits: Sequence[tuple[str, int, Knob]], block_bytes: int) -> list[str]:
    """How a message is copied inside a node, as far as settings tell; what is sent at once is copied twice anyway."""
    if block_bytes <= max((size for _, size, knob in limits if knob.what == EAGER), default=0):
        return []
    found = [
        f"{name} = {values[name]}" + (f" ({words[values[name]]})" if values[name] in words else "")
        for pattern, words in COPIES.items()
        for name in sorted(values)
        if re.fullmatch(pattern, name)
    ]
    if "smsc" in values:
        used = [way for way in MECHANISMS if f"smsc_{way}_priority" in values]
        meaning = MECHANISMS[used[0]] if used else TWICE
        found.append(f"smsc = {values['smsc'] or (used or ['none'])[0]} ({meaning})")
    return found[:1] or ["how often each is copied (not recorded)"]


def _limits(values: Mapping[str, str], family: str, where: str) -> list[tuple[str, int, Knob]]:
    """The limits of messages between two ranks that were in force, most likely first, each under one name."""
    return [
        (name, size, knob)
        for knob in KNOBS.get(family, ())
        if knob.where == where and not knob.collective
        for name in knobs.without_aliases(sorted(values))
        if re.fullmatch(knob.pattern, name) and knobs.carries(name, values) and (size := knobs.bytes_of(values[name]))
    ]
