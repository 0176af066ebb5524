# SPDX-License-Identifier: BSD-3-Clause
"""A fabric as the text of a file: of one that was changed, and has no file of its own."""

import json
import re
from collections.abc import Mapping
from typing import Any

from weft.fabric.model import Fabric
from weft.files.reading import is_list, is_table


def as_toml(fabric: Fabric) -> str:
    """The text of a file that :func:`weft.fabric.load_fabric` reads as this fabric; defaults are left out."""
    tree = fabric.model_dump(mode="json", exclude_none=True, exclude_defaults=True)
    return "\n".join(_table((), tree)).lstrip("\n") + "\n"


def _table(path: tuple[str, ...], tree: Mapping[str, Any]) -> list[str]:
    """Lines of a table: its values, then the tables inside it."""
    plain = {key: value for key, value in tree.items() if not isinstance(value, dict)}
    lines = ["", f"[{'.'.join(map(_key, path))}]"] if path else []
    lines += [f"{_key(key)} = {_value(value)}" for key, value in plain.items()]
    for key in (each for each in tree if each not in plain):
        lines += _table((*path, key), tree[key])
    return lines


def _key(key: str) -> str:
    return key if re.fullmatch("[A-Za-z0-9_-]+", key) else _quoted(key)


def _value(value: Any) -> str:
    """A value; a table inside a list stands in braces."""
    if is_list(value):
        return f"[{', '.join(map(_value, value))}]"
    if is_table(value):
        return f"{{{', '.join(f'{_key(key)} = {_value(each)}' for key, each in value.items())}}}"
    return _quoted(value) if isinstance(value, str) else json.dumps(value)


def _quoted(text: str) -> str:
    """A text in quotes: as in JSON, but TOML knows no halves of characters."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")
