# SPDX-License-Identifier: BSD-3-Clause
"""A key file that cannot be used: the kernel says why, its word reaches the user, and nothing is started in vain."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from real_weft import Weft

STUDY = """\
name = "keys"
title = "A sort of keys from a file"
kernel = "exchange"

[measure]
launches = {launches}
max_samples = 20
budget = "0.1 s"
limit = "{limit}"
seed = 5

[exchange]
data = "file"
file = "keys.npy"

[[series]]
name = "sort"
scaling = "none"
nodes = 1
ranks_per_node = 1
n = 400
m = 4
"""
GOOD = np.linspace(0.0, 1.0, 400)


def cut(path: Path) -> None:
    np.save(path, GOOD)
    path.write_bytes(path.read_bytes()[:-40])


def with_nan(path: Path) -> None:
    keys = GOOD.copy()
    keys[7] = np.nan
    np.save(path, keys)


def pickled(path: Path) -> None:
    np.save(path, np.array([{}] * 400, object), allow_pickle=True)


BAD: dict[str, tuple[Callable[[Path], object], str]] = {
    "truncated": (cut, "it is cut off"),
    "of another type": (lambda path: np.save(path, GOOD.astype("<f4")), "type '<f4'"),
    "big-endian": (lambda path: np.save(path, GOOD.astype(">f8")), "type '>f8'"),
    "NaN": (with_nan, "key 7 (counted from 0) is NaN"),
    "short": (lambda path: np.save(path, GOOD[:50]), "holds 50 keys where the study asks for n = 400"),
    "pickled": (pickled, "type '|O'"),
    "of two dimensions": (lambda path: np.save(path, GOOD.reshape(20, 20)), "not one dimension"),
    "no .npy": (lambda path: path.write_text("1 2 3\n" * 100), "does not begin like a .npy file"),
}


@pytest.mark.parametrize("what", BAD)
def test_a_bad_key_file_is_told_in_the_kernels_words(what: str, make: Callable[..., Weft]) -> None:
    """Its row was overwritten with "crash: exit code 0 and left no record", in each of these cases."""
    weft = make(launches=1, text=STUDY)
    spoil, words = BAD[what]
    spoil(weft.study.parent / "keys.npy")
    done = weft.run()
    assert weft.folder.exists(), done.stderr
    row = weft.records()["c000.l1"]
    assert (row["status"], words in str(row["reason"])) == ("launch", True), row
    assert words in done.stdout + done.stderr
    assert done.returncode == 1
    starts = sorted(path.name for path in weft.folder.glob("launches/*.outcome.json"))
    assert starts == ["c000.l1.outcome.json"]


def test_a_missing_key_file_is_named_before_anything_is_started(make: Callable[..., Weft]) -> None:
    weft = make(launches=1, text=STUDY)
    done = weft.run()
    assert done.returncode == 1
    assert "keys.npy is no file, and the study names it" in done.stderr
    assert not list(weft.folder.glob("launches/*.outcome.json"))


def test_a_better_key_file_is_all_it_takes(make: Callable[..., Weft]) -> None:
    weft = make(launches=1, text=STUDY)
    keys = weft.study.parent / "keys.npy"
    cut(keys)
    assert weft.run().returncode == 1
    np.save(keys, GOOD)
    weft.folder = weft.folder.with_name("another")  # a run keeps the file that it was begun with
    done = weft.run()
    assert done.returncode == 0, done.stderr
    assert set(weft.statuses().values()) == {"ok"}
