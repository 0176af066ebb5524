# SPDX-License-Identifier: BSD-3-Clause
"""The records that the kernel writes beside its samples, of a cell and of a launch; checked on reading."""

import json
from collections.abc import Mapping
from contextlib import suppress
from operator import itemgetter
from pathlib import Path
from typing import Annotated, Any, Literal, cast

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

from weft.errors import DataError
from weft.files.atomic import is_damaged
from weft.files.beneath import TooLargeError, read_json_text
from weft.text import is_plain_json, plain_tree

WITH_SAMPLES = frozenset({"ok", "invalid"})  # their samples lie in an .npy; the others are rows without numbers
MEASURE_AGAIN = "repeat the same `weft run`: it measures this cell again and keeps the others"
Count = Annotated[int, Field(ge=0, lt=2**63)]
Small = Annotated[int, Field(ge=0, lt=2**31)]
#: Allowed names of a cell, launch or kernel, never a path: ``c000.l1``.
Label = Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9_.@+:-]{0,99}$")]
#: An operation, or a step of its breakdown: ``alltoall@1024``, ``C/within``. Never used in a path.
Operation = Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9_.@+:-]{0,99}(/[a-z-]{1,30})?$")]
Columns = tuple[str, str, str]  # names of the three numbers of a row
#: How it is known what samples lost: by the time for which a rank was runnable without a processor; by the processor
#: time of others, where ranks share cores by plan; or only by a flag, the context switches.
LostBy = Literal["delay", "others", "switches"]
#: The names of the number that says so: ``taint`` is the flag of earlier kernels.
LOST_COLUMNS: Mapping[str, LostBy] = {"delay": "delay", "others": "others", "switches": "switches", "taint": "switches"}
EARLIER_COLUMNS: Columns = ("start_ns", "duration_ns", "taint")
ABSENT = {"host": "", "node": 0, "local_rank": 0, "cpus": "", "core": -1, "init_ns": -1}
"""What an entry of a rank that an older kernel did not write stands for."""
ENTRY: "itemgetter[Any]" = itemgetter("rank", *ABSENT)


class Record(BaseModel):
    """Base of the records read from a run folder: frozen, and ignoring fields that a later Weft adds."""

    model_config = ConfigDict(frozen=True, extra="ignore", populate_by_name=True)


class Segment(Record):
    """A stretch of rows of one operation in one phase: ``first`` .. ``first + count`` of each rank in the .npy."""

    op: Operation
    phase: Literal["cold", "warm"]
    first: Count
    count: Count
    batch: Annotated[int, Field(ge=1, lt=2**31)] = 1
    warmup: Small = 0
    ended_by: str = ""
    late: Count = 0
    definition: Literal["global", "local"] = "local"
    peers_met: Small | None = None  # of a first call: most peers of a rank that Weft's own traffic may have met before
    algorithm: str = ""  # by which a collective's first call ran, as a simulator saw it; empty where nobody can see
    columns: Columns = EARLIER_COLUMNS  # names of the three numbers of a row; an empty name for an unused one
    head: tuple[Columns, ...] = ()  # the same for each of the first rows, if they differ from the others

    @property
    def lost_by(self) -> LostBy:
        """How it is known what its samples lost."""
        return LOST_COLUMNS.get(self.lost_column, "switches")

    @property
    def lost_column(self) -> str:
        """The name of the number of what its samples lost; empty if its rows are no samples."""
        return next((name for name in self.columns if name in LOST_COLUMNS), "")


class Clock(Record):
    """How the ranks' clocks were synchronised, and the residual found by check rounds."""

    method: str = ""
    residual_ns: float = 0


class Validation(Record):
    """The result of the validation after the timed region (METHOD 12)."""

    performed: bool = False
    errors: Count = 0
    detail: str = ""


class NodeReport(Record):
    """What a node says of itself around a cell (native/measure/cell/node_report.hpp); times in ns."""

    host: str
    node: Small = 0
    began_ns: int = 0
    init_ns: int = 0
    mpi: str = ""
    kernel: str = ""
    cpus: Small = 0
    copy_bytes: Count = 0
    copy_ns: Count = 0
    loop_ns: Count = 0
    waited_ns: int = 0
    wall_ns: int = 0
    network_sent: int = 0
    adapters: Small = 0
    adapter_sent: int = 0
    errors: dict[str, int] = {}
    rates: dict[str, str] = {}


class CellRecord(Record):
    """One cell in one launch (``cells/<cell>.l<k>.json``) of the ``run`` and ``hash`` of `weft.store.cells.Origin`."""

    schema_: Literal["weft-cell/2"] = Field(alias="schema")
    run: str
    hash: str
    cell: Label
    launch: Label
    launch_index: Annotated[int, Field(ge=1, le=32767)]
    kernel: str = ""
    ranks: Count = 0
    status: Literal["ok", "invalid", "memory", "fabric", "bound", "timeout", "crash", "launch"]
    reason: str = ""
    shape: tuple[Count, Count, Literal[3]] | None = None
    crc32: tuple[Count, ...] = ()
    segments: tuple[Segment, ...] = ()
    clock: Clock = Clock()
    validation: Validation = Validation()
    memory: dict[str, Any] = {}
    swap: dict[str, int] = {}
    steal_ns: int = 0
    wall_ns: int = 0
    warnings: tuple[str, ...] = ()
    nodes: tuple[NodeReport, ...] = ()

    @property
    def has_samples(self) -> bool:
        """Whether an .npy belongs to this record."""
        return self.status in WITH_SAMPLES


class RankColumns(Record):
    """Host, core and binding of the ranks of a launch, column by column: an object for each rank would be slow."""

    rank: tuple[Small, ...] = ()
    host: tuple[str, ...] = ()
    node: tuple[Small, ...] = ()
    local_rank: tuple[Small, ...] = ()
    cpus: tuple[str, ...] = ()
    core: tuple[Annotated[int, Field(ge=-1, lt=2**31)], ...] = ()
    init_ns: tuple[Annotated[int, Field(ge=-1, lt=2**63)], ...] = ()  # what MPI_Init took; -1 where nobody measured it


def by_column(ranks: Any) -> Any:
    """The ranks of a launch, one after the other in its record, as columns; ValueError if one is none."""
    if not isinstance(ranks, list):
        raise ValueError("must be a list of ranks")
    rows = cast(list[Any], ranks)
    with suppress(KeyError, TypeError, ValueError):  # all names of an entry at once: a quarter of the time
        return dict(zip(("rank", *ABSENT), zip(*map(ENTRY, rows), strict=True), strict=True))
    if not all(isinstance(row, dict) and "rank" in row for row in rows):
        raise ValueError("each entry must be an object with a rank")
    absent = {name: [row.get(name, value) for row in rows] for name, value in ABSENT.items()}
    return absent | {"rank": [row["rank"] for row in rows]}


class LaunchRecord(Record):
    """Provenance of one start of the ranks (``launches/<launch>.json``, schema weft-launch/1)."""

    schema_: Literal["weft-launch/1"] = Field(alias="schema")
    launch: Label
    mpi_library: str = ""
    mpi_standard: str = ""
    processor: str = ""
    kernel_sources: str = ""
    clock: dict[str, float | str | None] = {}
    start: str = ""
    seed: int = 0
    page_bytes: int = 0
    cache: str = ""
    environment: dict[str, str] = {}  # the settings that are variables of the environment
    settings: dict[str, str] = {}
    named_settings: dict[str, str] = {}
    settings_of: Label | None = None  # the launch of the same walk whose record has both
    ranks: Annotated[RankColumns, BeforeValidator(by_column)] = RankColumns()


def unreadable(path: Path, error: OSError, remedy: str = MEASURE_AGAIN) -> DataError:
    """The error for a record, or its samples, that cannot be read."""
    helps = remedy if isinstance(error, TooLargeError) else "check the folder's permissions"
    return DataError(f"{path}: cannot be read: {error.strerror}", helps)


def _load(path: Path, kind: type[Record], what: str, remedy: str = MEASURE_AGAIN) -> Any:
    try:
        text = read_json_text(path)
        if is_damaged(text):
            raise DataError(f"{path}: damaged {what}: its checksum is of other content", remedy)
        easy = is_plain_json(text)
        raw = None if easy else plain_tree(json.loads(text))
    except FileNotFoundError:
        raise DataError(f"{path}: there is no such {what}", remedy) from None
    except OSError as error:
        raise unreadable(path, error, remedy) from None
    except (ValueError, RecursionError) as error:  # ValueError covers bad JSON and bad UTF-8
        raise DataError(f"{path}: torn {what}: {error}", remedy) from None
    try:
        return kind.model_validate_json(text) if easy else kind.model_validate(raw)
    except ValidationError as error:
        first = error.errors()[0]
        if first["type"] == "json_invalid":
            raise DataError(f"{path}: torn {what}: {first['msg']}", remedy) from None
        where = ".".join(map(str, first["loc"])) or "the whole file"
        raise DataError(f"{path}: {where} is {repr(first['input'])[:80]}: {first['msg']}", remedy) from None


def load_cell_record(path: Path) -> CellRecord:
    """Read a cell's .json. Raises DataError: the file is missing, torn, or not a record of schema weft-cell/2."""
    return _load(path, CellRecord, "cell record")


def load_launch_record(path: Path) -> LaunchRecord:
    """Read a launch's .json; raises DataError like `load_cell_record`, and if it is of another launch."""
    remedy = "delete this file: its provenance is lost, the times are not"
    record: LaunchRecord = _load(path, LaunchRecord, "launch record", remedy)
    if record.launch != path.stem:
        raise DataError(f"{path}: the record calls itself launch {record.launch}", remedy)
    if not record.settings_of:
        return record
    # with the settings of the first of its walk, unless that one was started again elsewhere since
    known = {"settings": record.environment, "named_settings": dict[str, str]()}
    with suppress(DataError):  # torn: reported where that launch is read
        first: LaunchRecord = _load(path.with_name(f"{record.settings_of}.json"), LaunchRecord, "launch record")
        if (first.mpi_library, first.environment) == (record.mpi_library, record.environment):
            known = {name: getattr(first, name) for name in known}
    return record.model_copy(update=known)
