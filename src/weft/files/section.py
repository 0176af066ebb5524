# SPDX-License-Identifier: BSD-3-Clause
"""Base classes of the tables of Weft's TOML files."""

from pathlib import Path
from typing import Annotated, Self

from pydantic import AfterValidator, BaseModel, PrivateAttr


def checked_path(text: str) -> str:
    """Return ``text`` if a file may have it as its path.

    Raises ValueError: It is empty, has a NUL, or is longer than a path or the name of a file can be.
    """
    parts = text.split("/")
    if not text or "\0" in text or len(text) > 4000 or max(len(part.encode()) for part in parts) > 255:
        raise ValueError("the path of a file, of at most 4,000 characters, 255 bytes between two /, and no NUL")
    return text


FilePath = Annotated[str, AfterValidator(checked_path)]
"""The path of another file, from the folder of the file that names it."""


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
