# SPDX-License-Identifier: BSD-3-Clause
"""Good files, changed at random: each is read or refused by a WeftError, soon and without much memory."""

import random
import time
from pathlib import Path

import pytest
from targets import TARGETS, Target

PIECES = [
    b"", b"0", b"-1", b"1e400", b"nan", b"99999999999999999999", b"9" * 5000, b"\x00", b"\xff", b"\xc3\xa9", b"[", b"]",
    b"{", b"}", b"(", b"[" * 2000, b"{" * 2000, b"'", b'"', b"\\", b"\n", b"\r", b"#", b",", b"n[1-999999999]", b"null",
    b"true", b"../../..", b"\x1b[31m", b"@all", b"$(id)", b"<a>", b"]]>", b"<!ENTITY a 'b'>", b"[bold]", b"\xd9\xa1",
]  # fmt: skip


def changed(chance: random.Random, good: bytes) -> bytes:
    """Some cuts, insertions, doublings and flipped bits."""
    content = bytearray(good)
    for _ in range(chance.randint(1, 4)):
        at = chance.randint(0, len(content))
        length = chance.choice([0, 1, 1, 2, 4, 16, 64])
        what = chance.randrange(4)
        if what == 0:
            content[at : at + length] = chance.choice(PIECES)
        elif what == 1:
            content[at:at] = content[at : at + length] * chance.choice([1, 2, 100])
        elif what == 2 and at < len(content):
            content[at] ^= 1 << chance.randrange(8)
        else:
            del content[at : at + length]
    return bytes(content)


@pytest.mark.parametrize("share", [6, pytest.param(1, marks=pytest.mark.long)])
@pytest.mark.parametrize("name", TARGETS)
def test_a_changed_file_is_read_or_refused(name: str, share: int, tmp_path: Path) -> None:
    target, chance = TARGETS[name], random.Random(f"fuzz/{name}")
    seeds = target.seeds
    for tried in range(1, target.inputs // share + 1):
        content = changed(chance, chance.choice(seeds))
        began = time.process_time()
        try:
            target(content, tmp_path)
        except Exception as problem:
            pytest.fail(f"{name}, input {tried}: {problem!r} from {content[:2000]!r}")
        assert time.process_time() - began < 10, f"{name}, input {tried} took too long: {content[:2000]!r}"


@pytest.mark.parametrize("name", TARGETS)
def test_the_good_files_are_read(name: str, tmp_path: Path) -> None:
    """Without this a target could pass by refusing everything."""
    target = TARGETS[name]
    assert any(target(seed, tmp_path) for seed in target.seeds)


def test_a_target_that_lets_another_error_out_is_found(tmp_path: Path) -> None:
    def read(path: Path) -> None:
        if b"\xff" in path.read_bytes():
            raise KeyError("planted")

    target, chance = Target(read, "", (b"good",)), random.Random(1)
    with pytest.raises(KeyError):
        for _ in range(10_000):
            target(changed(chance, b"good"), tmp_path)
