# SPDX-License-Identifier: BSD-3-Clause
"""Base classes of the tables of Weft's TOML files."""

from pathlib import Path
from typing import Self

from pydantic import BaseModel, PrivateAttr


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
