# SPDX-License-Identifier: BSD-3-Clause
"""Reading a JSON file that a user names into a model; the message for the first mistake names the file and the key."""

import json
from pathlib import Path
from typing import Annotated, TypeVar

from pydantic import AfterValidator, BaseModel, Field, ValidationError

from weft.errors import DataError
from weft.files.atomic import file_errors
from weft.files.beneath import read_json_text
from weft.files.checksum import NAME, is_damaged
from weft.text import one_line

Model = TypeVar("Model", bound=BaseModel)
Checksum = Annotated[int | None, AfterValidator(lambda _: None), Field(exclude=True)]
"""The last entry of a file that Weft wrote, no part of its content; who corrects one by hand takes it out."""

MOST_BYTES = 2**26  # of a file: a selection table of thousands of rules has less

MOST_CHARACTERS = 300  # of a message: it quotes the file


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
