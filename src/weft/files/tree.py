# SPDX-License-Identifier: BSD-3-Clause
"""What TOML and JSON files are read as: tables, lists and plain values. A type checker learns here which one it is."""

from typing import Any, TypeGuard


def is_table(value: object) -> TypeGuard[dict[str, Any]]:
    """Whether a value read from a file is a table (TOML) or an object (JSON)."""
    return isinstance(value, dict)


def is_list(value: object) -> TypeGuard[list[Any]]:
    """Whether a value read from a file is a list."""
    return isinstance(value, list)


def as_list(value: Any) -> list[Any]:
    """A list or tuple as a list; anything else as a list of that one value."""
    return list(value) if isinstance(value, list | tuple) else [value]  # pyright: ignore[reportUnknownArgumentType]
