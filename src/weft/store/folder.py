# SPDX-License-Identifier: BSD-3-Clause
"""The run folder: the paths of its files, whether this Weft can read it, and looks at other work on this host."""

import hashlib
import shlex
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field, ValidationError

from weft.errors import DataError, NotThereError
from weft.files.atomic import file_errors, guard, read_json, write_json
from weft.files.beneath import open_plain
from weft.store.records import Record

SCHEMA = "weft-run/2"
OF = "of"  # entry of ``weft.json`` of a run inside another (moved knobs, a second pass): the id of that other one
INPUTS = "inputs"  # entry of ``weft.json``: SHA-256 of each of the run's copies of files that its study names
META: dict[str, type] = {"seed": int, "launcher": dict, INPUTS: dict}  # entries of ``weft.json`` that are no texts
MOST_META = 1 << 22  # bytes of ``weft.json``
KINDS = {int: "number", dict: "table", str: "text"}
DISTURBS = 0.1  # share of the cores with other work from which on a run suffers


class RunFolder:
    """One study on one fabric, on disk."""

    def __init__(self, path: Path) -> None:
        self.path = path.absolute()
        self.study = self.path / "study.toml"
        self.fabric = self.path / "fabric.toml"
        self.meta = self.path / "weft.json"
        self.plan = self.path / "plan.json"
        self.lock_file = self.path / "lock"
        self.inputs = self.path / "inputs"
        self.launches = self.path / "launches"
        self.cells = self.path / "cells"
        self.samples = self.path / "samples"
        self.tables = self.path / "tables"
        self.confirm = self.path / "confirm"
        self.again = self.path / "second"
        self.load = self.path / "load.json"
        self.report = self.path / "report.html"

    @classmethod
    def open(cls, path: Path) -> "RunFolder":
        """Open a run folder that this Weft can read; NotThereError if it is none, DataError for one it cannot."""
        folder = cls(path)
        if not folder.meta.is_file():
            what = "does not exist" if not folder.path.exists() else "is not a run folder: it has no weft.json"
            remedy = "weft list runs names those that are here; weft run STUDY --on FABRIC makes one"
            raise NotThereError(f"{folder.path} {what}", remedy)
        guard(folder.path)
        schema = folder.metadata().get("schema")
        if str(schema).startswith("weft-trace/"):
            remedy = f"weft trace show {shlex.quote(str(folder.path))}; a page: the same with -o PAGE.html"
            raise DataError(f"{folder.path} is the trace of an application, not the run of a study", remedy)
        if schema != SCHEMA:
            what = f"{folder.path}: this run was made by another version of the run format: {schema!r}, this Weft reads"
            made = f"{what} {SCHEMA!r} (made by weft {folder.metadata().get('weft', 'unknown')})"
            raise DataError(made, "read it with that version of Weft, or measure again with --into DIR")
        return folder

    def metadata(self) -> dict[str, Any]:
        """Entries of ``weft.json``. Raises DataError: it is torn, or an entry is of another kind than Weft writes."""
        found = read_json(self.meta, MOST_META)
        for name, value in found.items():
            kind = META.get(name, str)
            if not isinstance(value, kind):
                raise DataError(f"{self.meta}: {name} is {value!r:.60}, not a {KINDS[kind]}", self.measure_anew())
        return found

    def run_id(self) -> str:
        """Sixteen random hexadecimal digits, drawn when the run was created; every record repeats them."""
        return str(self.metadata().get("run", ""))

    def inner(self, name: Literal["confirm", "second"]) -> "RunFolder | None":
        """The run inside this one, if there is one: its knobs moved (``--confirm``), or the second pass of a check."""
        inner = RunFolder(self.path / name)
        # a link may lead back here; and only a run of a study has others in it
        return inner if inner.meta.is_file() and not inner.path.is_symlink() and OF not in self.metadata() else None

    def of(self, launch: str, kind: Literal["plan", "plan.door", "status", "live", "outcome.json", "log"]) -> Path:
        """A file of a launch. The kernel's input; where rank 0 says how others reach it before MPI; status slots, 64
        bytes a rank; the samples so far of its operation; how it ended (exit code, wall time); its output.
        """
        return self.launches / f"{launch}.{kind}"

    def cell_record(self, cell: str, launch_index: int) -> Path:
        """The ``.json`` that marks a cell of a launch as finished."""
        return self.cells / f"{cell}.l{launch_index}.json"

    def what_is_left(self) -> str:
        """What can still be read of a run without its plan, in words."""
        cells = sum(1 for path in self.cells.glob("*.npy") if path.with_suffix(".json").exists())
        tables = sum(1 for _ in self.tables.glob("*.parquet"))
        parts = [f"the samples of {cells} cells (cells/*.npy, {{ranks, samples, 3}} int64 in ns)"] if cells else []
        parts += [f"{tables} tables (tables/*.parquet)"] if tables else []
        parts += ["report.html"] if self.report.exists() else []
        return f"what can still be read: {', '.join(parts) or 'nothing'}"

    def measure_anew(self) -> str:
        """The command that measures the same study on the same fabric again, into a new folder."""
        words = ["weft", "run", str(self.study), "--on", str(self.fabric), "--into", f"{self.path}-again"]
        return f"measure again: {shlex.join(words)}"

    def leftovers(self, names: Collection[str]) -> Iterator[Path]:
        """Yield each incomplete file that a killed launch left."""
        own = (self.study, self.fabric, self.plan, self.meta, self.load, self.report)
        yield from filter(Path.is_file, (path.with_name(f"{path.name}.part") for path in own))
        for where in (self.cells, self.launches, self.samples):
            # the second is what Open MPI (OMPIO) locks beside a file it writes
            for pattern in ("*.part", "*.part-*.lock"):
                yield from (part for part in where.glob(pattern) if part.name.partition(".")[0] in names)


def digest(path: Path) -> str:
    """A file's SHA-256, in hexadecimal digits. Raises DataError: it is missing, no plain file, or cannot be read."""
    with file_errors(path), open_plain(path) as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def digests(folder: RunFolder) -> dict[str, str]:
    """SHA-256 of each copy by its name, for ``weft.json``."""
    return {path.name: digest(path) for path in sorted(folder.inputs.iterdir())} if folder.inputs.is_dir() else {}


def check_copies(folder: RunFolder) -> None:
    """DataError if a run's copy is missing or changed since it was created; an earlier Weft kept no hashes of them."""
    for name, noted in folder.metadata().get(INPUTS, {}).items():
        copy = folder.inputs / Path(name).name
        if (now := digest(copy)) != noted:
            raise DataError(
                f"{copy} was changed since the run was created: SHA-256 {str(noted)[:12]} in weft.json, {now[:12]} now"
                f"; {folder.what_is_left()}",
                f"restore the original, or {folder.measure_anew()}",
            )


class Look(Record):
    """Other work on this host, seen for a moment."""

    when: str  # ISO time in UTC
    busy: Annotated[float, Field(ge=0)]  # cores that worked, on average over the look
    cores: Annotated[int, Field(ge=1)]  # cores that the ranks may use
    by: tuple[tuple[str, float], ...] = ()  # names of the busiest programs, and the cores that each of them kept busy

    @property
    def share(self) -> float:
        """Busy cores over cores."""
        return self.busy / self.cores


class Looks(Record):
    """Every look of a run, the first first."""

    schema_: Literal["weft-load/1"] = Field(default="weft-load/1", alias="schema")
    looks: tuple[Look, ...] = ()


def read_looks(root: Path) -> tuple[Look, ...]:
    """The looks of a run; none where its ranks run elsewhere, or an earlier Weft measured it. DataError if torn."""
    path = RunFolder(root).load
    if not path.is_file():
        return ()
    try:
        return Looks.model_validate(read_json(path)).looks
    except ValidationError as error:
        remedy = "delete this file: the run then knows of no load at its start"
        raise DataError(f"{path}: torn: {error.errors()[0]['msg']}", remedy) from None


def add_look(root: Path, look: Look) -> None:
    """Write one more look into a run's file; DataError if it is torn, or cannot be written."""
    write_json(RunFolder(root).load, Looks(looks=(*read_looks(root), look)).model_dump(by_alias=True))
