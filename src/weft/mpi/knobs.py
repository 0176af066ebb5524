# SPDX-License-Identifier: BSD-3-Clause
"""Settings (knobs) of MPI libraries at whose value a protocol or algorithm changes, to explain a change-over point. The
names are the libraries' own: Open MPI's as ``ompi_info --all`` lists them (4.1, 5.0), MPICH's as MPI_T (5.0), UCX's as
``ucx_info -f``, MVAPICH2's and Intel MPI's as in their guides. The record of a launch has their values; of a library
that exposes none the knob is only named as the one to try. At the end: which variables a stored plan may set.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import product
from typing import Literal

from weft.mpi.algorithms import knob as algorithm_knob
from weft.mpi.library import INTEL, MPICH, MVAPICH, OPEN_MPI, SMPI, parse_library

Where = Literal["node", "network", "both"]
HEADER = 128  # bytes that a library may count beside the data: a limit of 4096 B already asks before 4096 B of data
#: Suffixes as UCX and MVAPICH2 take them: binary.
SUFFIXES = {"": 1, "b": 1, "k": 2**10, "kb": 2**10, "m": 2**20, "mb": 2**20, "g": 2**30, "gb": 2**30}
PREFIXES = (
    "OMPI_MCA_", "PMIX_MCA_", "MPICH_", "MPIR_CVAR_", "UCX_", "FI_", "MV2_", "MVP_", "I_MPI_", "WEFT_SMPI_",
    "WEFT_THREADS",
)  # fmt: skip
NAME = re.compile(r"[A-Z][A-Za-z0-9_]{0,99}")
VALUE = re.compile(r"[A-Za-z0-9_.,:^+-]{0,200}")  # a number, size, word or list; no path, nothing that a shell sees
LOADS = re.compile(
    r"path|file|dir|prefix|agent|exec|launch|command|cmd|shell|wrapper|preload|librar|lib_|plugin|module|component|"
    r"conf|env|debug|script|hook|spawn|plm|rsh|(?<!progr)ess|log|dump|output",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class Knob:
    """One kind of variable."""

    pattern: str  # pattern of the whole name. A group ``collective`` in it limits the knob to calls of that name.
    what: str  # what changes above its value
    where: Where = "both"  # whether it affects messages inside a node, between nodes, or both
    collective: bool = False  # affects collective calls only; others affect every message, also inside a collective


@dataclass(frozen=True)
class NamedKnob:
    """A variable of the library with its current value."""

    names: tuple[str, ...]  # its name; several if more than one has this value, most likely first
    value: int  # bytes
    what: str  # what changes above it

    def text(self) -> str:
        """In words: ``btl_sm_eager_limit (4096 B)``."""
        return f"{' or '.join(self.names)} ({self.value:,} B)"


EAGER = "messages up to it are sent eagerly, larger ones by rendezvous"
PIECES = "larger messages are sent in pieces"
INLINE = "larger messages are no longer copied at once with the header"
FIRST = "this much of a larger message is sent with the rendezvous request"
ALGORITHM = "the algorithm changes"
CELLS = "larger messages need several cells"
#: Up to how many times its value a block may be for a limit on what is sent at once to matter to it. Libraries set it
#: where the handshake that it saves costs no more than the data: at four times that it is a fifth of both at most. What
#: goes with the header saves a copy of so few bytes that larger messages do not notice.
REACHES: Mapping[str, int] = {EAGER: 4, FIRST: 4, CELLS: 4, INLINE: 1}
OTHER_PMLS = frozenset({"ucx", "cm"})  # Open MPI's ways to send that use none of its byte transfer layers (btl)
#: Limits on what is sent at once, which holds the header; thresholds on a buffer, or on a call, do not.
WITH_HEADER = frozenset({EAGER, INLINE, FIRST, CELLS})
UCX = (
    Knob("UCX_RNDV_THRESH", EAGER, "network"),
    Knob("UCX_ZCOPY_THRESH", "larger messages are not copied before they are sent", "network"),
)
# Sorted by likelihood: of two with one value the earlier is named first. Open MPI 5 also knows btl_sm_* as btl_vader_*.
KNOBS: Mapping[str, tuple[Knob, ...]] = {
    OPEN_MPI: (
        Knob(r"btl_(sm|vader)_eager_limit", EAGER, "node"),
        Knob(r"btl_(sm|vader)_max_inline_send", INLINE, "node"),
        Knob(r"btl_(tcp|openib|usnic|ugni|uct|portals4|ofi)_eager_limit", EAGER, "network"),
        Knob(r"coll_tuned_(?P<collective>\w+?)_(small|intermediate|large)_msg", ALGORITHM, "both", True),
        Knob(r"coll_tuned_(?P<collective>\w+?)_algorithm_segmentsize", PIECES, "both", True),
        Knob(r"coll_(han|adapt)_(?P<collective>\w+?)_seg(ment_)?size", PIECES, "network", True),
        Knob(r"coll_sm_fragment_size", PIECES, "node", True),
        Knob(r"btl_(sm|vader)_max_send_size", PIECES, "node"),
        Knob(r"btl_(sm|vader)_rndv_eager_limit", FIRST, "node"),
        Knob(r"btl_(tcp|openib|usnic|ugni|uct|portals4|ofi)_max_send_size", PIECES, "network"),
        Knob(r"btl_(tcp|openib|usnic|ugni|uct|ofi)_rndv_eager_limit", FIRST, "network"),
        Knob(r"btl_\w+_min_rdma_pipeline_size", "larger messages are moved by remote access, in a pipeline", "network"),
        *UCX,
    ),
    MPICH: (
        Knob("MPIR_CVAR_CH4_IPC_CMA_P2P_THRESHOLD", "larger messages are copied once, by the receiver", "node"),
        Knob("MPIR_CVAR_CH4_SHM_POSIX_IQUEUE_CELL_SIZE", CELLS, "node"),
        Knob("MPIR_CVAR_CH4_IPC_XPMEM_P2P_THRESHOLD", "larger messages are copied once, by the receiver", "node"),
        Knob("MPIR_CVAR_NEMESIS_SHM_EAGER_MAX_SZ", EAGER, "node"),
        Knob("MPIR_CVAR_CH3_EAGER_MAX_MSG_SIZE", EAGER),
        Knob("MPIR_CVAR_CH4_OFI_EAGER_THRESHOLD", EAGER, "network"),
        Knob("MPIR_CVAR_CH4_OFI_MULTI_NIC_STRIPING_THRESHOLD", "larger messages use several adapters", "network"),
        Knob(
            r"MPIR_CVAR_(?P<collective>[A-Z_]+?)_((VSMALL|SHORT|MEDIUM|LONG)_MSG_SIZE|INTRANODE_MSG_SIZE_THRESHOLD)",
            ALGORITHM, "both", True,
        ),
        Knob(r"MPIR_CVAR_(?P<collective>[A-Z_]+?)_TREE_PIPELINE_CHUNK_SIZE", PIECES, "both", True),
        *UCX,
    ),
    MVAPICH: (
        Knob("MV2_SMP_EAGERSIZE", EAGER, "node"),
        Knob("MV2_IBA_EAGER_THRESHOLD", EAGER, "network"),
        Knob("MV2_VBUF_TOTAL_SIZE", EAGER, "network"),
        Knob(r"MV2_(?P<collective>[A-Z]+)_(SHORT|SMALL|MEDIUM|LARGE)_MSG", ALGORITHM, "both", True),
    ),
    INTEL: (
        Knob("I_MPI_INTRANODE_EAGER_THRESHOLD", EAGER, "node"),
        Knob("I_MPI_SHM_CELL_FWD_SIZE", EAGER, "node"),
        Knob("I_MPI_EAGER_THRESHOLD", EAGER, "network"),
    ),
    # what a simulated fabric's file states
    SMPI: (
        Knob(r"network\.eager_limit", EAGER, "network"),
        Knob(r"network\.segments\.\d+\.above", "larger messages have another overhead, gap or rate", "network"),
    ),
}  # fmt: skip
#: Reports on a call that is slower than its mock-up: (family, collective, guideline) -> where.
ISSUES: Mapping[tuple[str, str, str], str] = {(OPEN_MPI, "alltoallv", "alltoall"): "open-mpi/ompi#9761"}
#: The knob to try if no value is known: (family, where) -> name.
USUAL: Mapping[tuple[str, Where], str] = {
    (OPEN_MPI, "node"): "btl_sm_eager_limit",
    (OPEN_MPI, "network"): "btl_tcp_eager_limit, or UCX_RNDV_THRESH where pml is ucx",
    (MPICH, "node"): "MPIR_CVAR_CH4_IPC_CMA_P2P_THRESHOLD",
    (MPICH, "network"): "UCX_RNDV_THRESH, or MPIR_CVAR_CH4_OFI_EAGER_THRESHOLD",
    (MVAPICH, "node"): "MV2_SMP_EAGERSIZE",
    (MVAPICH, "network"): "MV2_IBA_EAGER_THRESHOLD",
    (INTEL, "node"): "I_MPI_SHM_CELL_FWD_SIZE",
    (INTEL, "network"): "I_MPI_EAGER_THRESHOLD",
    (SMPI, "network"): (
        "network.eager_limit of the fabric file (without it SimGrid's 65,536 B holds) and its network.segments"
    ),
}


class Knobs:
    """The knobs of one launch."""

    def __init__(self, library: str, values: Mapping[str, str]) -> None:
        self._library = library
        parsed = parse_library(library)
        self.family = parsed.family
        self._names_vader = parsed.family == OPEN_MPI and 0 < parsed.major < 5  # the name of its sm before 5.0
        device = re.search(r"device:?\s*ch([34])", library, re.IGNORECASE)
        self._device = device[1] if device else "4"
        known = plain(values)
        self._values = {name: size for name, text in known.items() if (size := bytes_of(text)) and carries(name, known)}
        self._shared = shares_memory(known)

    def within(self, lower: int, upper: int, where: Where = "both", collective: str = "") -> list[NamedKnob]:
        """The knobs whose value lies between two sizes, most likely first; those of one value and meaning are one. A
        knob that counts a header switches up to `HEADER` bytes below its value. `collective`: empty for a message.
        """
        where = where if self._shared else "network"
        found: dict[tuple[int, str], list[str]] = {}
        for knob, (name, value) in product(KNOBS.get(self.family, ()), sorted(self._values.items())):
            header = HEADER if knob.what in WITH_HEADER else 0
            if lower <= value and value - header <= upper and self._rules(name, knob, where, collective):
                found.setdefault((value, knob.what), []).append(name)
        return [NamedKnob(tuple(names), value, what) for (value, what), names in found.items()]

    def eager_bytes(self) -> int | None:
        """Bytes up to which a message between nodes goes without asking; None if several limits may rule, or none."""
        eager = [knob for knob in KNOBS.get(self.family, ()) if knob.what == EAGER]
        values = self._values.items()
        found = {value for name, value in values if any(self._rules(name, knob, "network", "") for knob in eager)}
        return found.pop() if len(found) == 1 else None

    def usual(self, where: Where, collective: str = "") -> str:
        """The knob that usually moves such a point, if no known value explains it."""
        protocol = USUAL.get((self.family, "node" if where == "node" and self._shared else "network"), "")
        if self._names_vader:
            protocol = protocol.replace("btl_sm_", "btl_vader_")
        chooser = algorithm_knob(self._library, collective.partition("-")[0]) if collective else ""
        return "; or ".join(filter(None, (f"{chooser}, which chooses the algorithm" if chooser else "", protocol)))

    def _rules(self, name: str, knob: Knob, where: Where, collective: str) -> bool:
        match, is_there = re.fullmatch(knob.pattern, name), where == knob.where or "both" in (where, knob.where)
        if match is None or not is_there or (knob.collective and not collective):
            return False
        if name.startswith(("MPIR_CVAR_CH3_", "MPIR_CVAR_NEMESIS_")) and self._device != "3":
            return False  # each device lists the variables of both
        wanted = match.groupdict().get("collective")
        return wanted is None or wanted.lower() == collective.partition("-")[0]


def matters(knob: Knob, value: int, block_bytes: int) -> bool:
    """Whether moving a knob, now at ``value`` bytes, could change what a message of so many bytes costs. A limit on
    what is sent at once matters to smaller messages, and to those that another limit would let through at a price worth
    paying (`REACHES`). What rules only larger messages matters above its value.
    """
    reach = REACHES.get(knob.what)
    return block_bytes > value if reach is None else block_bytes <= reach * value


def shares_memory(values: Mapping[str, str]) -> bool:
    """Whether ranks of a node exchange messages through its memory, as far as the settings say."""
    if values.get("MPIR_CVAR_NOLOCAL", "0").lower() in ("1", "true", "yes"):
        return False
    return values.get("pml") in OTHER_PMLS or any(_listed(name, values.get("btl", "")) for name in ("sm", "vader"))


def carries(name: str, values: Mapping[str, str]) -> bool:
    """Whether the transport of a variable may have carried messages, as far as the settings say."""
    pml, netmod = values.get("pml", ""), values.get("MPIR_CVAR_CH4_NETMOD", "")
    if transport := re.match(r"btl_([a-z]+\d?)_", name):
        return pml not in OTHER_PMLS and _listed(transport[1], values.get("btl", ""))
    if name.startswith("UCX_"):
        return pml in ("", "ucx") and netmod in ("", "ucx")
    if name.startswith("MPIR_CVAR_CH4_OFI_"):
        return netmod in ("", "ofi")
    local = ("MPIR_CVAR_CH4_IPC_", "MPIR_CVAR_CH4_SHM_", "MPIR_CVAR_NEMESIS_SHM_")
    return not name.startswith(local) or shares_memory(values)


def _listed(transport: str, chosen: str) -> bool:
    """Whether Open MPI's list ``self,tcp`` or ``^openib,ofi`` takes a transport; an empty list takes all."""
    own = {"sm": {"sm", "vader"}, "vader": {"sm", "vader"}}.get(transport, {transport})
    named = {each.strip() for each in chosen.removeprefix("^").split(",") if each.strip()}
    return not named or bool(own & named) != chosen.startswith("^")


def without_aliases(names: Iterable[str]) -> list[str]:
    """Names of knobs, one for each variable: Open MPI 5 lists ``btl_sm_`` a second time as ``btl_vader_``."""
    listed = list(names)
    return [name for name in listed if (own := name.replace("btl_vader_", "btl_sm_")) == name or own not in listed]


def plain(values: Mapping[str, str]) -> dict[str, str]:
    """Settings under the variables' own names: ``OMPI_MCA_btl_sm_eager_limit`` is ``btl_sm_eager_limit``. What the
    environment says stands over what MPI_T says: some libraries show the default there until it is used.
    """
    stated = sorted(values.items(), key=lambda item: item[0].startswith("OMPI_MCA_"))
    return {name.removeprefix("OMPI_MCA_"): text for name, text in stated}


def bytes_of(text: str) -> int | None:
    """Bytes of a value such as ``8192``, ``16k`` or ``1MB``; None for ``auto``, ``inf``, lists and what is below 1."""
    match = re.fullmatch(r"\s*(\d{1,15})\s*([a-zA-Z]{0,2})\s*", text)
    size = int(match[1]) * SUFFIXES.get(match[2].lower(), 0) if match else 0
    return size if 1 <= size < 2**30 else None  # 2^31 and its like mean "no limit"


def all_values(launches: Iterable[Mapping[str, str]]) -> dict[str, str]:
    """Settings on which several launches agree; a variable that differs between them is left out."""
    listed = list(launches)
    first: Mapping[str, str] = listed[0] if listed else {}
    return {name: text for name, text in first.items() if all(each.get(name) == text for each in listed)}


def check_settings(settings: Mapping[str, str]) -> dict[str, str]:
    """The variables, after each was found to be a knob of a communication library; ValueError names one that is not."""
    for name, value in settings.items():
        known = next((prefix for prefix in PREFIXES if name.startswith(prefix)), None)
        if known is None or not NAME.fullmatch(name):
            raise ValueError(f"{name!r} is no knob of an MPI library: names begin with {', '.join(PREFIXES)}")
        if LOADS.search(name.removeprefix(known)):
            raise ValueError(f"{name} may load or start something: it is not taken from a run folder")
        if not VALUE.fullmatch(value):
            raise ValueError(f"{name} = {value[:60]!r} is no number, size or word")
    return dict(settings)


def setting_of(knob: str, value: int) -> dict[str, str]:
    """The environment variable that sets a knob, by the library's own name; ValueError: a run folder may not set it."""
    return check_settings({knob if knob.startswith(PREFIXES) else f"OMPI_MCA_{knob}": str(value)})
