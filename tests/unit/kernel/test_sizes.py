# SPDX-License-Identifier: BSD-3-Clause
"""Sizes of a sweep, and the names of its operations."""

from typing import Any

import pytest
from pydantic import TypeAdapter, ValidationError

from weft.kernel.sizes import ByteSizes, op_name, parse_sizes, powers_of_two, split_op, write_sizes

SIZES = TypeAdapter[tuple[int, ...]](ByteSizes)


@pytest.mark.parametrize(
    ("op", "name", "size"),
    [
        ("alltoall@1024", "alltoall", 1024),
        ("alltoallv-linear@8", "alltoallv-linear", 8),
        ("send@0", "send", 0),
        ("barrier", "barrier", None),
        ("A", "A", None),
        ("copy-16384", "copy-16384", None),
        ("odd@", "odd@", None),
        ("odd@12 KiB", "odd@12 KiB", None),
    ],
)
def test_an_operation_is_split_into_its_name_and_its_size(op: str, name: str, size: int | None) -> None:
    assert split_op(op) == (name, size)
    if size is not None:
        assert op_name(name, size) == op


def test_a_range_goes_by_powers_of_two_and_ends_where_it_says() -> None:
    assert parse_sizes("1 B .. 16 B") == (1, 2, 4, 8, 16)
    assert parse_sizes("1 KiB..5 KiB") == (1024, 2048, 4096, 5120)
    assert powers_of_two(0, 3) == (0, 1, 2, 3)
    assert powers_of_two(7, 7) == (7,)


def test_a_list_is_sorted() -> None:
    assert parse_sizes(["1 KiB", "8 B"]) == (8, 1024)


@pytest.mark.parametrize(
    ("value", "why"),
    [
        ("4 KiB .. 1 KiB", "from a smaller to a larger one"),
        (["8 B", "8 B"], "one size twice"),
        ([], "sizes are"),
        (1024, "sizes are"),
        ("1 KB .. 2 KB", "binary prefixes"),
        ([f"{size} B" for size in range(1, 300)], "at most 200"),
    ],
)
def test_other_sizes_are_refused_with_an_example(value: Any, why: str) -> None:
    with pytest.raises(ValidationError, match=why):
        SIZES.validate_python(value)


def test_sizes_are_written_as_they_are_read() -> None:
    sizes = parse_sizes("1 B .. 4 MiB")
    assert parse_sizes(write_sizes(sizes)) == sizes
