# SPDX-License-Identifier: BSD-3-Clause
"""Reading a TOML file into a model; the message for the first mistake has file, key, value and what is allowed."""

import difflib
import json
import re
import tomllib
from collections.abc import Iterable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, TypeGuard, TypeVar, get_args

from pydantic import BaseModel, ValidationError
from pydantic.fields import FieldInfo
from pydantic_core import ErrorDetails

from weft.errors import WeftError
from weft.files.beneath import open_plain
from weft.files.shipped import shipped

Model = TypeVar("Model", bound=BaseModel)
Loc = Sequence[int | str]
MOST_TOML = 2**20  # bytes: what takes a second to read
MOST_PARTS = 64
_BASIC, _LITERAL = r"\"(?:[^\"\\\n]|\\.)*+\"?", r"'[^'\n]*+'?"
_LINES = r"\"{3}(?:[^\"\\]|\\[\s\S]|\"{1,2}(?!\"))*+(?:\"{3,5})?|'{3}(?:[^']|'{1,2}(?!'))*+(?:'{3,5})?"
_PART = rf"(?:[A-Za-z0-9_-]++|{_BASIC}|{_LITERAL})"
_MORE = rf"(?:[ \t]*+\.[ \t]*+{_PART})"
TOKEN = re.compile(
    rf"{_LINES}|#[^\n]*+|(?P<long>{_PART}{_MORE}{{{MOST_PARTS}}})|{_PART}{_MORE}*+|[^\"'#A-Za-z0-9_-]++", re.ASCII
)
"""Strings of several lines, comments, names with their dots, and all else: right up to a first mistake."""


def is_table(value: object) -> TypeGuard[dict[str, Any]]:
    """Whether a value read from a file is a table (TOML) or an object (JSON)."""
    return isinstance(value, dict)


def is_list(value: object) -> TypeGuard[list[Any]]:
    """Whether a value read from a file is a list."""
    return isinstance(value, list)


def as_list(value: Any) -> list[Any]:
    """A list or tuple as a list; anything else as a list of that one value."""
    return list(value) if isinstance(value, list | tuple) else [value]  # pyright: ignore[reportUnknownArgumentType]


def closest(word: str, known: Iterable[str]) -> str:
    """The known word of which ``word`` is probably a misspelling; empty if there is none."""
    near = difflib.get_close_matches(word, list(known), n=1, cutoff=0.6)
    return near[0] if near else ""


def locate(given: str | Path, folder: str, error: type[WeftError]) -> Path:
    """Path of a file given by path, or by the name of a shipped one; ``error`` names the closest of these."""
    text = str(given)
    with suppress(OSError, ValueError):  # an embedded NUL, or a name the file system refuses
        if Path(text).is_file():
            return Path(text)
        if Path(text).is_dir() and not (shipped(folder) / f"{text}.toml").is_file():  # a run's own folder: --into pairs
            raise error(f"{text} is a folder", f"name one of its files, or one that ships with Weft ({folder})")
    names = sorted(path.stem for path in shipped(folder).glob("*.toml"))
    name = text.removesuffix(".toml")
    if name in names:
        return shipped(folder) / f"{name}.toml"
    near = closest(Path(name).name if "\0" not in name else "", names)
    hint = f"did you mean {near}? " if near else ""
    raise error(f"no file {text!r}", f"{hint}give a path, or one that ships with Weft: {', '.join(names)}")


def read_toml(path: Path, error: type[WeftError]) -> tuple[str, dict[str, Any]]:
    """Text and tree of a TOML file of at most 1 MiB; ``error`` names the line."""
    try:
        with open_plain(path) as file:
            read = file.read(MOST_TOML + 1)
        if len(read) > MOST_TOML:
            what = f"{path}: {path.stat().st_size:,} bytes; at most {MOST_TOML:,} are read"
            raise error(what, "write ranges and node sets for long lists; a dump of a network is a file of its own")
        text = read.decode("utf-8")
    except UnicodeDecodeError as problem:
        raise error(f"{path}: byte {problem.start} is not UTF-8", "save the file as UTF-8 text") from None
    except OSError as problem:
        raise error(f"{path} cannot be read: {problem.strerror}", "check its permissions") from None
    return text, parse_toml(text, str(path), error)


def parse_toml(text: str, source: str, error: type[WeftError]) -> dict[str, Any]:
    """Tree of a TOML text; ``error`` names ``source`` and the line."""
    # the TOML reader walks through all parts of a name for each of them
    names = TOKEN.finditer(text) if text.count(".") >= MOST_PARTS else ()
    if found := next((token for token in names if token["long"]), None):
        line = text.count("\n", 0, found.start()) + 1
        what = f"{source}: line {line} has a name of more than {MOST_PARTS} parts with dots between them"
        raise error(what, "no name in a file of Weft has over four parts")
    try:
        return tomllib.loads(text)
    except RecursionError:
        raise error(f"{source}: nested too deeply", "flatten the file") from None
    except ValueError as problem:  # TOMLDecodeError, and whole numbers of thousands of digits
        remedy = "correct that line; see https://toml.io for the syntax"
        raise error(f"{source} is not TOML: {problem}", remedy) from None


def validate(model: type[Model], tree: dict[str, Any], source: str, error: type[WeftError]) -> Model:
    """Make a ``model`` of a TOML tree; ``error`` describes the first mistake."""
    try:
        return model.model_validate(tree)
    except ValidationError as problem:
        mistakes = problem.errors(include_url=False)
        what, remedy = describe(model, mistakes[0])
        more = f" ({len(mistakes)} mistakes in this file; this is the first)" if len(mistakes) > 1 else ""
        raise error(f"{source}: {what}{more}", remedy) from None
    except RecursionError:
        raise error(f"{source}: nested too deeply", "flatten the file") from None


def describe(model: type[BaseModel], mistake: ErrorDetails) -> tuple[str, str]:
    """The mistake with key path and value, and its remedy."""
    loc, kind = mistake["loc"], mistake["type"]
    key = ".".join(str(part) for part in loc)
    message = mistake["msg"].removeprefix("Value error, ").removeprefix("Input should be ")
    if kind == "extra_forbidden":
        known = fields_at(model, loc[:-1])
        near = closest(str(loc[-1]), known)
        hint = f'did you mean "{near}"? ' if near else ""
        where = ".".join(str(part) for part in loc[:-1]) or "the file"
        return f'unknown key "{key}" = {shown(mistake["input"])}', f"{hint}keys of {where}: {', '.join(known)}"
    if kind == "missing":
        return f'the key "{key}" is missing', f"add it; {help_at(model, loc)}"
    if kind in ("model_type", "model_attributes_type"):
        remedy = f"write it as a section: [{key}] with the keys {', '.join(fields_at(model, loc))}"
        return f'"{key}" is {shown(mistake["input"])}, not a table', remedy
    if not loc:
        return message, "change the file to satisfy this"
    must = "" if kind == "value_error" else "must be "
    return f'"{key}" = {shown(mistake["input"])}: {must}{message}', f'change "{key}"; {help_at(model, loc)}'


def shown(value: object) -> str:
    """A value as in the file, shortened to one readable line."""
    try:
        text = json.dumps(value, ensure_ascii=False, default=str)
    except (ValueError, RecursionError):
        text = type(value).__name__
    return text if len(text) <= 60 else text[:57] + "..."


def fields_at(model: type[BaseModel], loc: Loc) -> dict[str, FieldInfo]:
    """The keys that are allowed at a key path; none without a model there."""
    for part in (part for part in loc if isinstance(part, str)):
        inner = model_in(model.model_fields[part].annotation) if part in model.model_fields else None
        if inner is None:
            return {}
        model = inner
    return model.model_fields


def model_in(annotation: Any) -> type[BaseModel] | None:
    """The model inside ``Model``, ``Model | None`` or ``tuple[Model, ...]``."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    return next((found for part in get_args(annotation) if (found := model_in(part))), None)


def help_at(model: type[BaseModel], loc: Loc) -> str:
    """The description of a key, or the keys of its section."""
    named = [part for part in loc if isinstance(part, str)]
    while named:
        key, known = named.pop(), fields_at(model, named)
        if key in known:
            return known[key].description or f"keys beside it: {', '.join(known)}"
    return "see the shipped files for an example"
