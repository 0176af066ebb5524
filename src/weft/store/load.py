# SPDX-License-Identifier: BSD-3-Clause
"""What else this host was doing when ranks were about to start: ``load.json`` of a run, a look for each `weft run`."""

from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field, ValidationError

from weft.errors import DataError
from weft.files.atomic import read_json, write_json
from weft.store.folder import RunFolder
from weft.store.records import Record

DISTURBS = 0.1  # share of the cores with other work from which on a run suffers


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


def load_file(root: Path) -> Path:
    """The file of the looks of a run."""
    return RunFolder(root).load


def read_looks(root: Path) -> tuple[Look, ...]:
    """The looks of a run; none where its ranks run elsewhere, or an earlier Weft measured it. DataError if torn."""
    path = load_file(root)
    if not path.is_file():
        return ()
    try:
        return Looks.model_validate(read_json(path)).looks
    except ValidationError as error:
        remedy = "delete this file: the run then knows of no load at its start"
        raise DataError(f"{path}: torn: {error.errors()[0]['msg']}", remedy) from None


def add_look(root: Path, look: Look) -> None:
    """Write one more look into a run's file; DataError if it is torn, or cannot be written."""
    every = Looks(looks=(*read_looks(root), look))
    write_json(load_file(root), every.model_dump(by_alias=True))
