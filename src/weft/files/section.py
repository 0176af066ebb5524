# SPDX-License-Identifier: BSD-3-Clause
"""Base classes of the tables of Weft's TOML files, keys put into their text, and JSON files read into a model."""

import json
import re
from pathlib import Path
from typing import Annotated, Self, TypeVar

from pydantic import AfterValidator, BaseModel, Field, PrivateAttr, ValidationError

from weft.errors import DataError
from weft.files.atomic import NAME, file_errors, is_damaged
from weft.files.beneath import read_json_text
from weft.text import one_line

HEADER = re.compile(r"(?P<whole>\[\[?(?P<section>[^\[\]]+)\]\]?)\s*(#.*)?$")
Model = TypeVar("Model", bound=BaseModel)
Checksum = Annotated[int | None, AfterValidator(lambda _: None), Field(exclude=True)]
"""The last entry of a file that Weft wrote, no part of its content; who corrects one by hand takes it out."""
MOST_BYTES = 2**26  # of a file: a selection table of thousands of rules has less
MOST_CHARACTERS = 300  # of a message: it quotes the file


def put(lines: list[str], section: str, key: str, value: str) -> None:
    """Set a key of a section (empty: the part before the first header), as a new line if it has none."""
    headers = [(-1, ""), *((at, name) for at, name, _ in _headers(lines))]
    begin = next((at for at, name in headers if name == section), None)
    if begin is None:
        lines += ["", f"[{section}]", f"{key} = {value}"]
        return
    end = next((at for at, _ in headers if at > begin), len(lines))
    if not _replaced(lines, begin, end, key, value):
        while not lines[end - 1].strip():
            end -= 1
        lines.insert(end, f"{key} = {value}")


def put_in_each(lines: list[str], section: str, key: str, value: str) -> None:
    """Set a key in every table of an array, ``[[series]]``: replace its line, or add one below the header."""
    headers = _headers(lines)
    for at, name, whole in reversed(headers):
        if name == section and whole.startswith("[["):
            end = next((other for other, _, _ in headers if other > at), len(lines))
            if not _replaced(lines, at, end, key, value):
                lines.insert(at + 1, f"{key} = {value}")


def _headers(lines: list[str]) -> list[tuple[int, str, str]]:
    found = ((at, HEADER.match(text.strip())) for at, text in enumerate(lines))
    return [(at, header["section"].strip(), header["whole"]) for at, header in found if header]


def _replaced(lines: list[str], begin: int, end: int, key: str, value: str) -> bool:
    for at in range(begin + 1, end):
        if lines[at].partition("=")[0].strip() == key:
            lines[at] = f"{key} = {value}"
            return True
    return False


def checked_path(text: str) -> str:
    """Return ``text``; ValueError if it is empty, has a NUL, or is too long for a path or a file's name."""
    parts = text.split("/")
    if not text or "\0" in text or len(text) > 4000 or max(len(part.encode()) for part in parts) > 255:
        raise ValueError("the path of a file, of at most 4,000 characters, 255 bytes between two /, and no NUL")
    return text


FilePath = Annotated[str, AfterValidator(checked_path)]  # from the folder of the file that names it


class Section(BaseModel, frozen=True, extra="forbid"):
    """A table of a file. An unknown key is a mistake, and nothing changes once the file is read."""


class WholeFile(Section, frozen=True):
    """A whole file with its path and text."""

    _path: Path = PrivateAttr(default=Path())
    _text: str = PrivateAttr(default="")

    @property
    def path(self) -> Path:
        """The file it was read from."""
        return self._path

    @property
    def text(self) -> str:
        """That file's text, for the run folder."""
        return self._text

    def read_from(self, path: Path, text: str) -> Self:
        """Note the file and its text; returns the same object."""
        self._path, self._text = path, text  # pyright: ignore[reportAttributeAccessIssue] - private: no key of the file
        return self


def read_json_file(path: Path, model: type[Model], is_none: str, remedy: str) -> Model:
    """Read a JSON file into a ``model``; DataError names the key, rules and the like counted from 1."""
    with file_errors(path):
        raw = read_json_text(path, MOST_BYTES)
    if is_damaged(raw):
        what = f"{path} was changed since it was written: its checksum is of other content"
        raise DataError(what, f'bring the original back; if you corrected it, take out its last entry, "{NAME}"')
    try:
        return model.model_validate(json.loads(raw.decode("utf-8", errors="replace")))
    except ValidationError as problem:
        first = problem.errors()[0]
        where = ".".join(str(part + 1 if isinstance(part, int) else part) for part in first["loc"])
        why = ": ".join(filter(None, (where, first["msg"].removeprefix("Value error, "))))
    except (ValueError, RecursionError) as problem:
        why = str(problem)
    raise DataError(one_line(f"{path} {is_none}: {why}", MOST_CHARACTERS), remedy)
