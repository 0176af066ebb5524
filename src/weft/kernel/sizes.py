# SPDX-License-Identifier: BSD-3-Clause
"""Message sizes of a sweep, the operations named after them (``alltoall@1024``), and names of lines over sizes."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Annotated, Any

from pydantic import Field

from weft.files.reading import as_list
from weft.mpi.algorithms import DEFAULT
from weft.units import parse_bytes, written

#: Where the messages of a sweep lie, by the study's word for it; "cold" alone means a first call.
CACHES = {"hot": "from cache", "cold": "from memory", "shared": "in one place"}
MARK, RANGE, MOST_SIZES = "@", "..", 200


def line_name(call: str, parameters: Mapping[str, Any]) -> str:
    """MPI's name of a call, or the pattern of a bandwidth: ``MPI_Alltoallv, linear``, ``inter-node, from memory``."""
    if "collective" in parameters:
        collective, *rest = call.split("-")
        own = [parameters["algorithm"]] if parameters.get("algorithm", DEFAULT) != DEFAULT else []
        thread = ["progress thread"] if "progress" in parameters else []
        return ", ".join([f"MPI_{collective.capitalize()}", *rest, *own, *thread])
    hops = f"{parameters['hops']} hops" if "hops" in parameters else ""
    both = "both ways" if parameters.get("way") == "both" else ""
    cache = CACHES.get(parameters.get("cache", ""), "")
    words = (parameters.get("pattern", call), hops, flows_text(parameters), both, parameters.get("transfer", ""), cache)
    return ", ".join(word for word in words if word)


def flows_text(parameters: Mapping[str, Any]) -> str:
    """The number of flows of a bandwidth, unless it is one: ``4 pairs``, ``3 to 1``."""
    ranks = len(parameters.get("members", ()))
    fan = {"incast": f"{ranks - 1} to 1", "outcast": f"1 to {ranks - 1}"}.get(parameters.get("pattern", ""))
    return fan or (f"{ranks // 2} pairs" if ranks > 2 else "")


def cell_place(nodes: int, ranks: int, oversubscribed: bool) -> str:
    """``N = 1, p = 4``, with a star if ranks share cores."""
    return f"N = {nodes}, p = {ranks}{' *' if oversubscribed else ''}"


def in_all(series: Iterable[Iterable[int]]) -> set[int]:
    """Sizes that all series have in common. Raises ValueError: there is no series."""
    first, *others = (set(sizes) for sizes in series)
    return first.intersection(*others)


def window_of(values: Mapping[str, Any], size: int) -> int:
    """Messages of ``size`` bytes in one operation of a cell of pairs: 1 where latency is measured."""
    most = values.get("window", 1)
    return max(1, min(most, values.get("window_bytes", most * size) // max(size, 1))) if size else most


def op_name(name: str, size: int) -> str:
    """Name of an operation at one size, as records and tables carry it: ``alltoall@1024``."""
    return f"{name}{MARK}{size}"


def split_op(op: str) -> tuple[str, int | None]:
    """Split ``alltoall@1024`` into ``alltoall`` and 1024 bytes; an operation without a size has None."""
    name, mark, size = op.partition(MARK)
    return (name, int(size)) if mark and size.isascii() and size.isdigit() else (op, None)


def powers_of_two(first: int, last: int) -> tuple[int, ...]:
    """``first``, twice that, .. ``last``, always included; 0 is followed by 1. ValueError if ``first`` is larger."""
    if not 0 <= first <= last:
        raise ValueError(f"sizes go from a smaller to a larger one, not from {first} B to {last} B")
    sizes = [first]
    while (following := max(1, 2 * sizes[-1])) <= last:
        sizes.append(following)
    return tuple(sizes if sizes[-1] == last else [*sizes, last])


def parse_sizes(value: object) -> tuple[int, ...]:
    """Bytes, ascending, of ``"1 B .. 4 MiB"`` (powers of two) or ``["8 B", "1 KiB"]``; ValueError for others."""
    if isinstance(value, str) and RANGE in value:
        first, _, last = value.partition(RANGE)
        return powers_of_two(parse_bytes(first), parse_bytes(last))
    listed = as_list(value)
    if not listed or not all(isinstance(each, str) for each in listed):
        raise ValueError('sizes are "1 B .. 4 MiB" (powers of two), or a list such as ["8 B", "1 KiB"]')
    few_enough(listed)
    sizes = sorted(map(parse_bytes, listed))
    if len(set(sizes)) != len(sizes):
        raise ValueError("holds one size twice")
    return tuple(sizes)


def few_enough(listed: Sequence[object]) -> None:
    """ValueError for a list of more than 200 sizes, before any of them is parsed."""
    if len(listed) > MOST_SIZES:
        raise ValueError(f"holds {len(listed):,} sizes; at most {MOST_SIZES} keep a table readable")


def write_sizes(sizes: Sequence[int]) -> list[str]:
    """Texts that :func:`parse_sizes` reads."""
    return [f"{size} B" for size in sizes]


_ADDED = "sizes to add, at most, where times leave the line between their neighbours"
Refine = Annotated[int, Field(strict=True, ge=0, le=100, description=_ADDED)]
_LISTED = {"type": "array", "items": {"type": "string", "examples": ["1 KiB"]}, "minItems": 1}
_RANGE = {"type": "string", "examples": ["1 B .. 4 MiB"]}
ByteSizes = Annotated[tuple[int, ...], *written(parse_sizes, write_sizes, {"anyOf": [_RANGE, _LISTED]})]
