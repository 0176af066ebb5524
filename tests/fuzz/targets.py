# SPDX-License-Identifier: BSD-3-Clause
"""Every reader of a file that may come from somebody else, as a function of bytes.

Oracle: nothing but a WeftError comes out, and what is accepted is the same by another way (`read_again`).

``tests/fuzz/test_fuzz.py`` changes good files at random for a few seconds a target; ``bench/fuzz.py`` has Atheris look
for new paths through a reader for as long as one likes.
"""

import io
import json
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import run_folder
import trace_folder
from read_again import (
    same_cables,
    same_links,
    same_matrix,
    same_model,
    same_names,
    same_record,
    same_samples,
    same_service,
    same_tables,
)

from weft.errors import WeftError
from weft.fabric.checks import check_dump, check_network
from weft.fabric.importing import read_hwloc
from weft.fabric.model import Fabric, load_fabric
from weft.fabric.network.dumped import network_of
from weft.fabric.nodeset import expand
from weft.fabric.readers import Lines, read_dump, read_names, read_tables
from weft.files.matrix import read_matrix
from weft.files.shipped import shipped
from weft.fit.inputs import read_cells
from weft.kernel.studies import load_study
from weft.plan.stored import parse_plan
from weft.route.checks import read_service
from weft.store.cells import read_cell
from weft.store.links import SCHEMA

DUMPS = Path(__file__).parents[1] / "data" / "networks"
TOPOLOGY = b"SwitchName=a Nodes=n1[1-4]\nSwitchName=b Nodes=m[01-2] LinkSpeed=1\nSwitchName=s Switches=a,b\n"
SAMPLES = np.arange(2 * 5 * 3, dtype=np.int64).reshape(2, 5, 3)
RECORD = {
    "schema": "weft-cell/2",
    "run": "made",
    "hash": "made", "cell": "c003", "launch": "c003.l1", "launch_index": 1, "kernel": "exchange",
    "ranks": 2, "status": "ok", "reason": "", "shape": [2, 5, 3], "crc32": [zlib.crc32(slab.data) for slab in SAMPLES],
    "segments": [{"op": "C", "phase": "warm", "first": 0, "count": 5, "batch": 1, "definition": "global"}],
}  # fmt: skip
PATHS = b"".join(
    b"PathRecord dump:\n\tdlid............%d\n\tslid............%d\n\tsl..............0x%x\n" % (a, b, a + b)
    for a, b in ((1, 2), (2, 1), (3, 1))
)
LANES = b"# SL2VL table: Lid 4\n#                 SL: | 0| 1|\n" + b"".join(
    b"ports: in %2d, out %2d: " % (a, b) + b"".join(b"|%2d" % (i % 8) for i in range(16)) + b"|\n"
    for a, b in ((0, 1), (1, 0), (1, 2))
)
CELLS = b"nodes,ranks_per_node,n,m,seconds\n1,2,400,4,0.1\n2,2,400,4,0.2\n"


def npy(array: "np.ndarray[tuple[int, ...], np.dtype[np.int64]]") -> bytes:
    """A .npy file."""
    file = io.BytesIO()
    np.save(file, array)
    return file.getvalue()


def as_nodeset(path: Path) -> None:
    same_names(expand(path.read_bytes().decode("utf-8", "replace")))


def as_dump(path: Path) -> None:
    dump = read_dump(path)
    check_dump(dump)
    network = network_of(dump)
    check_network(network)
    if dump.format == "ibsim":
        same_cables(path, network)


def as_tables(path: Path) -> None:
    same_tables(read_tables(path))


def as_paths(path: Path) -> None:
    same_service(path, read_service(path))


def as_hwloc(path: Path) -> None:
    read_hwloc(Lines.read(path))


def as_fabric(path: Path) -> None:
    fabric: Fabric = load_fabric(path)
    assert fabric.hosts is not None
    same_model(fabric)


def as_study(path: Path) -> None:
    same_model(load_study(path))


def as_matrix(path: Path) -> None:
    same_matrix(path, read_matrix(path))


def as_lanes(path: Path) -> None:
    """Tables of switches; the paths are good."""
    paths = path.with_suffix(".paths")
    paths.write_bytes(PATHS)
    same_service(path, read_service(paths, path))


def as_record(path: Path) -> None:
    """A cell's record; its samples are good."""
    folder = path.parent / "record" / "cells"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "c003.l1.npy").write_bytes(npy(SAMPLES))
    (folder / "c003.l1.json").write_bytes(path.read_bytes())
    same_record(folder / "c003.l1.json", read_cell(folder.parent, "c003", 1))


def as_samples(path: Path) -> None:
    """A cell's samples; their record is good."""
    folder = path.parent / "samples" / "cells"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "c003.l1.json").write_text(json.dumps(RECORD))
    (folder / "c003.l1.npy").write_bytes(path.read_bytes())
    same_samples(folder / "c003.l1.npy", read_cell(folder.parent, "c003", 1))


def as_plan(path: Path) -> None:
    same_model(parse_plan(path, path.read_bytes()))


def as_cells(path: Path) -> None:
    for cell in read_cells(path):
        same_model(cell)


def as_links(path: Path) -> None:
    same_links(path)


def made_links(cells: bool) -> bytes:
    """Counters of a launch, those of its cells told apart or not."""
    row = {"link": "a>b", "from": "a", "to": "b", "rate": 1e9, "bytes": 10, "packets": 2, "drops": 0}
    record = {"schema": SCHEMA, "launch": "c000.l1", "method": "tc", "links": [row]}
    return json.dumps(record | ({"cells": {"c000": [row]}} if cells else {})).encode()


def made_plan() -> bytes:
    """The plan of a small study on a small fabric."""
    from weft.host import Host, Limit
    from weft.plan.make import make_plan

    fabric = Fabric.model_validate({"name": "l", "kind": "local", "node": {"copy_rate": "5 GB/s"}})
    host = Host("here", 2, 2**34, (Limit(2**33, "MemAvailable"),))
    return make_plan(load_study("contention"), fabric, predict=False, host=host).model_dump_json().encode()


@dataclass(frozen=True)
class Target:
    """A reader, the end of its files' names, and good files to begin with."""

    read: Callable[[Path], object]
    suffix: str
    good: tuple[bytes, ...] | Callable[[], tuple[bytes, ...]]
    inputs: int = 1500
    """How many changed files the tests try, the same ones each time; `bench/fuzz.py` tries others."""

    @property
    def seeds(self) -> tuple[bytes, ...]:
        """The good files; some take seconds to make."""
        return self.good() if callable(self.good) else self.good

    def __call__(self, content: bytes, folder: Path) -> bool:
        """Whether the content was read; False where it was refused by a WeftError. Anything else is a finding."""
        path = folder / f"input{self.suffix}"
        path.write_bytes(content)
        try:
            self.read(path)
        except WeftError as error:
            assert error.what
            return False
        return True


def files(folder: str) -> tuple[bytes, ...]:
    """The shipped files of a kind."""
    return tuple(path.read_bytes() for path in sorted(shipped(folder).glob("*.toml")))


TARGETS = {
    "nodeset": Target(as_nodeset, "", (b"n1[8-11]", b"r[1-2]n[01-18],login1", b"a.b-c[1,3,5-9]d[0-1]-ib m")),
    "topology": Target(as_dump, ".conf", (TOPOLOGY,)),
    "dump": Target(as_dump, ".ibnetdiscover", tuple(p.read_bytes() for p in sorted(DUMPS.glob("small*.ibnet*")))),
    "ibsim": Target(as_dump, ".net", ((DUMPS / "small.net").read_bytes(),)),
    "hwloc": Target(as_hwloc, ".xml", ((DUMPS / "two-sockets.xml").read_bytes(),)),
    "names": Target(read_names, "", (b'H-0002c90300080e84 node7\n0x0002c90300080e85 "node8" # a comment\n',)),
    "fabric": Target(as_fabric, ".toml", files("fabrics")),
    "study": Target(as_study, ".toml", files("studies")),
    "matrix-npy": Target(as_matrix, ".npy", (npy(np.arange(9).reshape(3, 3)),)),
    "matrix-text": Target(as_matrix, ".txt", (b"0 4096\n1048576, 7\n", b"0.5 0.25\n0.125 0\n")),
    "tables": Target(as_tables, "", tuple((DUMPS / name).read_bytes() for name in ("small-lfts.dump", "small.fdbs"))),
    "paths": Target(as_paths, ".txt", (PATHS,)),
    "lanes": Target(as_lanes, ".txt", (LANES,)),
    "record": Target(as_record, ".json", (json.dumps(RECORD).encode(),)),
    "samples": Target(as_samples, ".npy", (npy(SAMPLES),)),
    "cells-csv": Target(as_cells, ".csv", (CELLS,)),
    "cells-toml": Target(
        as_cells, ".toml", (b"[[cell]]\nnodes = 1\nranks_per_node = 2\nn = 400\nm = 4\nseconds = 0.1\n",)
    ),
    "links": Target(as_links, ".json", (made_links(True), made_links(False))),
    "run-file": Target(run_folder.as_run_with_file, "", run_folder.file_seeds, 6),
    "run-value": Target(run_folder.as_run_with_value, "", run_folder.value_seeds, 6),
    "run-table": Target(run_folder.as_run_with_table, "", run_folder.table_seeds, 6),
    "trace": Target(trace_folder.as_records, ".trace", (trace_folder.rank_bytes(trace_folder.made_rank(0)),), 25),
    "trace-file": Target(trace_folder.as_trace_with_file, "", trace_folder.file_seeds, 6),
    "plan": Target(as_plan, ".json", (made_plan(),)),
}
