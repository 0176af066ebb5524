# SPDX-License-Identifier: BSD-3-Clause
"""Bindings of ``libweft-route.so`` to arrays; `weft.launch.preload` builds it."""

import ctypes
import hashlib
import os
import zlib
from collections.abc import Callable
from contextlib import suppress
from ctypes import POINTER, byref, c_char_p, c_double, c_int8, c_int32, c_int64, c_uint64, c_void_p
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from weft.errors import DataError
from weft.fabric.network.graph import Ints, Links, Longs, Network
from weft.files.atomic import make_folder, write_atomic
from weft.files.beneath import plain_file
from weft.files.shipped import cache

NAME = "libweft-route.so"
I32, I64, I8, F64 = POINTER(c_int32), POINTER(c_int64), POINTER(c_int8), POINTER(c_double)


class Graph(ctypes.Structure):
    """``weft::route::Graph`` of native/route/graph.hpp."""

    _fields_ = (
        *((count, c_int32) for count in ("hosts", "switches", "links", "threads")),
        *((column, I32) for column in ("source", "target", "uplink", "delivery", "leaf", "forward")),
    )


class Paths(ctypes.Structure):
    """``weft::route::Paths`` of native/route/paths.hpp."""

    _fields_ = (("depth", c_int32), ("row", I32), ("link", I32), ("length", I8))


SIGNATURES: dict[str, tuple[Any, tuple[Any, ...]]] = {
    "all_to_all": (c_int64, (c_void_p, I64, I64)),
    "lengths": (c_int32, (c_void_p, I32, c_int32, I8)),
    "paths": (None, (c_void_p, I32, c_int32, c_int32, I8, I32)),
    "dependencies": (None, (c_void_p, I32, c_int32, I8, I8, I32, c_int64, I8)),
    "phases": (c_int64, (c_void_p, c_void_p, c_int32, c_int64, I32, c_int64, I64, F64, F64, I32, I64)),
    "bisections": (None, (c_void_p, c_void_p, c_int32, I32, c_int64, c_uint64, F64, F64)),
    "reroute": (c_int64, (c_void_p, I32, F64, c_double, c_int32, c_uint64, I32)),
    "relieve": (c_int32, (c_void_p, I32, F64, c_int32, I32, I32)),
    "failures": (None, (c_void_p, F64, I64, I32, c_int64, F64, I32, I64, I64, I32)),
    "rounds": (c_int64, (c_char_p, c_int32, I32, c_int32, c_void_p, F64, F64, F64, c_char_p, c_int64)),
    "d_mod_k": (None, (c_void_p, I32, I32, I64, I64, I64, I64, I32)),
    "minimal": (None, (c_void_p, I32, I32, F64, I32)),
    "swap": (c_int32, (c_void_p, I32, F64, c_double, c_double, c_int32, c_uint64, c_double, I32)),
}


def pointer(array: NDArray[Any] | None) -> Any:
    """A typed pointer to a contiguous array of any shape such as (links,) and any unit; null for None."""
    if array is None:
        return None
    if not array.flags.c_contiguous:
        raise ValueError("the array must be contiguous")
    return np.ctypeslib.as_ctypes(array.reshape(-1)) if array.size else None


class Library:
    """The library's functions; they release the GIL, so several threads can run. DataError if it cannot be loaded."""

    def __init__(self, path: Path) -> None:
        self.path = path
        try:
            loaded = ctypes.CDLL(str(path))
            self._functions: dict[str, Callable[..., Any]] = {}
            for name, (result, arguments) in SIGNATURES.items():
                function = getattr(loaded, f"weft_route_{name}")
                function.restype, function.argtypes = result, arguments
                self._functions[name] = function
        except (OSError, AttributeError) as error:
            raise DataError(f"{path} cannot be loaded: {error}", f"remove {path.parent}: it is built again") from error

    def call(self, name: str, *arguments: Any) -> Any:
        """Call a function; arrays become pointers, structures references."""
        return self._functions[name](*(_as_argument(value) for value in arguments))


def _as_argument(value: NDArray[Any] | ctypes.Structure | float) -> Any:
    if isinstance(value, np.ndarray):
        return pointer(value)
    return byref(value) if isinstance(value, ctypes.Structure) else value


def graph_columns(network: Network) -> tuple[Ints, ...]:
    """Contiguous arrays of a `Graph`, which the caller keeps alive for the library."""
    delivery = np.where(network.uplink >= 0, network.uplink ^ 1, -1)  # the other way of the cable a host sends into
    ends = (network.links.source, network.links.target, network.uplink, delivery, network.leaf)
    return tuple(np.ascontiguousarray(column, dtype=np.int32) for column in (*ends, network.forward))


def graph_of(network: Network, columns: tuple[Ints, ...], threads: int = 0) -> Graph:
    """The network in the library's form; by all cores here without a number of threads."""
    counts = (len(network.hosts), len(network.switches), len(network.links), threads or len(os.sched_getaffinity(0)))
    return Graph(*counts, *map(pointer, columns))


def loads_of(library: Library, network: Network, weight: Longs) -> Longs | None:
    """As :func:`weft.fabric.loads.all_to_all_loads`, by the native library; None where a message has no route."""
    columns, load = graph_columns(network), np.zeros(len(network.links), dtype=np.int64)
    lost = library.call("all_to_all", graph_of(network, columns), np.ascontiguousarray(weight), load)
    return None if lost else load


FEWEST_KEPT, MOST_KEPT_BYTES = 1 << 20, 256 << 20  # entries of tables in the cache, and bytes of all of them


def minimal_tables(library: Library, hosts: int, switches: int, links: Links) -> Ints:
    """As :func:`weft.fabric.network.minimal.minimal_tables`: the same tables, by the native library, or its cache."""
    digest = hashlib.blake2b(f"{library.path.parent.name} {hosts} {switches}".encode(), digest_size=16)
    for column in (links.source, links.target, links.source_port, links.target_port, links.rate):
        digest.update(np.ascontiguousarray(column).tobytes())
    kept = cache() / "tables" / f"{digest.hexdigest()}.npy"
    order = np.argsort(links.source, kind="stable").astype(np.int32)
    own = np.split(order, np.searchsorted(links.source[order], np.arange(hosts, hosts + switches)))[1:]
    forward = np.full((switches, hosts), -1, dtype=np.int32)
    if _read_tables(kept, forward, own):
        return forward
    graph = Graph(hosts=hosts, switches=switches, links=len(links))
    graph.source, graph.target = pointer(links.source), pointer(links.target)
    library.call("minimal", graph, links.source_port, links.target_port, links.rate, forward)
    _keep_tables(kept, forward, own)
    return forward


def _read_tables(kept: Path, forward: Ints, own: list[Ints]) -> bool:
    """Fill in tables that `_keep_tables` wrote, by the links out of each switch; False without them."""
    try:
        raw = memoryview(plain_file(kept).read_bytes())
        if len(raw) < 5 or int.from_bytes(raw[-4:]) != zlib.crc32(raw[:-4]):
            return False
        codes = np.load(BytesIO(raw[:-4]), allow_pickle=False)
        for row, code, links in zip(forward, codes, own, strict=True):
            row[:] = np.append(np.int32(-1), links)[code]
    except (OSError, ValueError, IndexError):
        forward[:] = -1
        return False
    with suppress(OSError):  # a cache of others
        os.utime(kept)
    return True


def _keep_tables(kept: Path, forward: Ints, own: list[Ints]) -> None:
    """Keep tables in the cache, a byte an entry where no switch has over 255 links; the oldest files make room."""
    most = max(map(len, own), default=0)
    last = max((int(links.max(initial=0)) for links in own), default=0)
    code = np.zeros(last + 2, dtype=np.uint8 if most < 256 else np.uint16)  # the last one means "no link"
    for links in own:
        code[links] = np.arange(1, len(links) + 1)
    if forward.size < FEWEST_KEPT or code.itemsize * forward.size > MOST_KEPT_BYTES:
        return
    with suppress(DataError, OSError):  # a cache that cannot be written costs time alone
        make_folder(kept.parent)
        data = BytesIO()
        np.save(data, code[forward])
        write_atomic(kept, data.getvalue() + zlib.crc32(data.getbuffer()).to_bytes(4))
        files = sorted(kept.parent.glob("*.npy"), key=lambda path: -path.stat().st_mtime)
        sizes = np.cumsum([path.stat().st_size for path in files])
        for path in (file for file, size in zip(files, sizes.tolist(), strict=True) if size > MOST_KEPT_BYTES):
            path.unlink(missing_ok=True)
