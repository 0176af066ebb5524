# SPDX-License-Identifier: BSD-3-Clause
"""The slot in which a kernel tells its samples so far, and slots that no kernel wrote."""

import os
import zlib
from pathlib import Path

import pytest

from made.live import slot_of
from weft.files.beneath import version
from weft.launch.launcher import Glimpse, parse_live, read_live

GOOD = slot_of("c003 alltoall@8 4 40 4000 3600 4400 4000 4400 3600")


def test_times_are_those_of_one_operation() -> None:
    assert parse_live(GOOD) == Glimpse("c003", "alltoall@8", 40, 1000, 900, 1100, (1000, 1100, 900))


@pytest.mark.parametrize("bytes_of_old", range(16, 60, 7))
def test_a_torn_slot_is_not_read(bytes_of_old: int) -> None:
    old = slot_of("c002 alltoall@8 4 12 8000 7600 8400 8000 8400")
    assert parse_live(GOOD[:bytes_of_old] + old[bytes_of_old:]) is None


@pytest.mark.parametrize(
    "words",
    [
        "", "c003", "c003 A 0 4 1 1 1", "c003 A 1 0 1 1 1", "c003 A 1 4 -1 1 1", "c003 A 1 4 1e9 1 1",
        "c003 A 1 4 1 1", "c003 A 1 4 99999999999999999999 1 1", "c003 A 1 4  1 1 1",
    ],
)  # fmt: skip
def test_what_no_kernel_writes_is_not_read_even_with_a_right_checksum(words: str) -> None:
    assert parse_live(slot_of(words)) is None


def test_random_bytes_and_other_versions_are_not_read() -> None:
    assert parse_live(os.urandom(512)) is None
    assert parse_live(b"\0" * 512) is None
    text = b"weft-live/2 c003 A 1 4 1 1 1 1"
    assert parse_live(text + b" %08x" % zlib.crc32(text)) is None


def test_a_slot_that_is_absent_old_a_link_or_a_pipe_is_none(tmp_path: Path) -> None:
    path = tmp_path / "a.live"
    assert read_live(path) is None
    path.write_bytes(GOOD)
    assert read_live(path) is not None
    before = version(path)
    assert read_live(path, before) is None
    os.utime(path, (5, 5))  # a clock that was set back in between
    assert read_live(path, before) is not None
    link = tmp_path / "b.live"
    link.symlink_to(path)
    assert read_live(link) is None
    pipe = tmp_path / "c.live"
    os.mkfifo(pipe)
    assert read_live(pipe) is None  # and does not wait for a writer
