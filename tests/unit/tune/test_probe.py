# SPDX-License-Identifier: BSD-3-Clause
"""LogGP's numbers from times of trains of messages, and the file they are kept in."""

import json
from pathlib import Path

import pytest

from weft.errors import DataError
from weft.tune.model import SCHEMA, MachineFile, read_machine
from weft.tune.study import from_times

NUMBERS = {"gap_s": 2e-7, "gap_is_limit": False, "overhead_s": 6e-7, "one_way_s": 1.2e-6}
RATES = {"rate_bytes_per_s": 3.5e9, "copy_rate_bytes_per_s": 2e10}
WRITTEN = MachineFile.model_validate({"schema": SCHEMA, "fabric": "f", "run": "r", **NUMBERS, **RATES})
VALUES = {"small": 8, "large": 2**20, "messages": 64, "trains": 4, "more": 4, "longer": 2}


def times(gap: float, overhead: float, one_way: float, rate: float, copies: float, ranks: int) -> dict[str, float]:
    """Times of a machine that is nothing but these numbers, with a start and an answer that cost 50 us."""
    rest = 50e-6
    found = {"trip@8": one_way + 8 / rate}
    for count in (64, 256):
        found[f"one-{count}@8"] = rest + count * max(overhead, gap + 8 / rate)
        found[f"all-{count}@8"] = rest + count * max(overhead, ranks * (gap + 8 / rate))
    for size in (2**20, 2**21):
        found[f"all-4@{size}"] = rest + 4 * ranks * (gap + size / rate)
        found[f"copy@{size}"] = 1e-6 + ranks * size / copies
    return found


def test_each_number_is_a_slope_without_starts_and_answers() -> None:
    found = from_times(times(0.2e-6, 0.6e-6, 1.2e-6, 3.5e9, 20e9, 8), VALUES, 8, 8)
    assert found.gap_s == pytest.approx(0.2e-6)
    assert found.overhead_s == pytest.approx(0.6e-6)
    assert found.one_way_s == pytest.approx(1.2e-6)
    assert found.rate_bytes_per_s == pytest.approx(3.5e9)
    assert found.copy_rate_bytes_per_s == pytest.approx(20e9)
    assert not found.gap_is_limit


def test_where_the_ranks_limit_the_gap_is_an_upper_limit() -> None:
    """Two ranks with 0.6 us each cannot show an adapter's 0.01 us."""
    found = from_times(times(0.01e-6, 0.6e-6, 1.2e-6, 3.5e9, 20e9, 2), VALUES, 2, 2)
    assert found.gap_is_limit
    assert 0.01e-6 < found.gap_s <= 0.3e-6


@pytest.mark.parametrize("name", ["one-256@8", "all-256@8", "all-4@2097152", "copy@2097152"])
def test_a_run_too_noisy_for_a_slope_is_refused(name: str) -> None:
    spoilt = times(0.2e-6, 0.6e-6, 1.2e-6, 3.5e9, 20e9, 8) | {name: 1e-9}
    with pytest.raises(DataError, match="no slope"):
        from_times(spoilt, VALUES, 8, 8)


def test_a_file_of_numbers_is_read_as_it_was_written(tmp_path: Path) -> None:
    path = tmp_path / "machine.json"
    WRITTEN.write(path)
    assert read_machine(path) == WRITTEN


@pytest.mark.parametrize("value", [-1, 0, None, "fast", float("nan"), float("inf"), [1]])
def test_a_rate_that_is_none_is_refused_with_its_key(value: object, tmp_path: Path) -> None:
    path = tmp_path / "machine.json"
    WRITTEN.write(path)
    tree = json.loads(path.read_text())
    del tree["record_crc32"]  # a checksum would refuse any edit
    path.write_text(json.dumps(tree | {"rate_bytes_per_s": value}))
    with pytest.raises(DataError, match="rate_bytes_per_s"):
        read_machine(path)
