# SPDX-License-Identifier: BSD-3-Clause
"""Too little memory, a full disk, a folder that cannot be written."""

import os
import resource
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from disks import fill, mounted
from real_weft import Weft, eventually

BIG = """\
name = "big"
title = "One cell that fits, one that does not"
kernel = "exchange"

[measure]
launches = {launches}
max_samples = 20
budget = "0.2 s"
limit = "{limit}"
seed = 5

[[series]]
name = "small"
scaling = "none"
nodes = 1
ranks_per_node = 2
n = 400
m = 4

[[series]]
name = "big"
scaling = "none"
nodes = 1
ranks_per_node = 2
n = 400
m = 1000000
"""

# the limit holds for everything below: the ranks ask for 2 x 1.5 GiB of it each
LIMITED = (
    "import os, resource, sys; resource.setrlimit(resource.RLIMIT_AS, (int(sys.argv[1]),) * 2); "
    "os.execv(sys.argv[2], sys.argv[2:])"
)


def test_a_cell_over_the_limit_is_a_row_with_its_numbers_and_the_study_goes_on(make: Callable[..., Weft]) -> None:
    weft = make(launches=1, limit="100 s", text=BIG)  # a floor of 256 MiB a copy took over 20 s beside others
    weft.prefix = (sys.executable, "-c", LIMITED, str(2500 * 2**20))
    done = weft.run()
    assert done.returncode == 0, done.stdout + done.stderr
    assert weft.statuses() == {"c000.l1": "ok", "c001.l1": "memory", "f000.l1": "ok"}
    row = weft.records()["c001.l1"]
    assert "unsorted" in str(row["memory"])
    assert row["reason"]
    before = weft.records()
    assert weft.run().returncode == 0
    assert weft.records() == before, "a cell that does not fit is final"


def test_the_limit_of_this_process_is_untouched_by_that_test() -> None:
    assert resource.getrlimit(resource.RLIMIT_AS)[0] == resource.RLIM_INFINITY


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 1 MiB."""
    yield from mounted(tmp_path / "disk", "1m")


def whole(weft: Weft) -> None:
    """Assert that no file under a final name is torn."""
    from weft.store.cells import finished_cells, read_cell

    for cell, launch in finished_cells(weft.folder):
        read_cell(weft.folder, cell, launch)


def test_a_full_disk_is_one_message_and_room_is_all_it_takes_to_go_on(
    make: Callable[..., Weft], small_disk: Path
) -> None:
    weft = make(launches=8)
    weft.folder = small_disk / "run"
    process = weft.start()
    assert eventually(lambda: len(weft.finished()) >= 4, 60)
    fill(small_disk / "ballast")
    _, err = process.communicate(timeout=60)
    assert process.returncode == 1, err
    assert "Traceback" not in err
    assert err.count("error:") == 1
    assert "disk is full" in err
    assert str(small_disk) in err
    assert "--into" in err
    whole(weft)
    weft.nothing_is_left()
    before = weft.finished()
    assert 4 <= len(before) < 4 * 8
    (small_disk / "ballast").unlink()
    again = weft.run()
    assert again.returncode == 0, again.stderr
    assert before.items() <= weft.finished().items()
    assert len(weft.finished()) == 4 * 8  # two cells and two floors in each of eight rounds


def test_a_disk_that_is_full_from_the_start_is_one_message(make: Callable[..., Weft], small_disk: Path) -> None:
    weft = make(launches=1)
    weft.folder = small_disk / "run"
    fill(small_disk / "ballast")
    done = weft.run()
    assert done.returncode == 1
    assert done.stderr.count("error:") == 1
    assert "disk is full" in done.stderr
    assert not list(small_disk.rglob("*.part"))


def test_a_folder_that_cannot_be_written_is_one_message(make: Callable[..., Weft], tmp_path: Path) -> None:
    weft = make(launches=1)
    place = tmp_path / "closed"
    place.mkdir()
    weft.folder = place / "run"
    if os.geteuid() == 0:  # root may write anywhere but on what is mounted read-only
        mount = subprocess.run(
            ["mount", "-t", "tmpfs", "-o", "ro", "tmpfs", str(place)], capture_output=True, check=False
        )
        if mount.returncode:
            pytest.skip(f"a read-only file system cannot be mounted here: {mount.stderr.decode().strip()}")
    else:
        place.chmod(0o555)
    try:
        done = weft.run()
    finally:
        if os.geteuid() == 0:
            subprocess.run(["umount", "-l", str(place)], check=True)
        else:
            place.chmod(0o755)
    assert done.returncode == 1
    assert done.stderr.count("error:") == 1
    assert "no permission to write" in done.stderr
    assert str(place) in done.stderr


def test_a_study_with_a_mistake_exits_2_and_makes_no_folder(make: Callable[..., Weft]) -> None:
    weft = make(launches=1, text="launches = {launches}\nlimit = '{limit}'\nkernel = 'exchnage'\n")
    done = weft.run()
    assert done.returncode == 2
    assert done.stderr.count("error:") == 1
    assert not weft.folder.exists()
