# SPDX-License-Identifier: BSD-3-Clause
"""What a machine may do to a run: a clock that jumps, a disk that turns read-only, limits of processes and files."""

import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from real_weft import Weft, eventually

from weft.store.cells import finished_cells, read_cell

JUMPS = """\
#define _GNU_SOURCE
#include <dlfcn.h>
#include <sys/time.h>
#include <time.h>

/* Every reading of the calendar clock is an hour off, forwards and backwards in turn; the other clocks are true. */
static long jump(void) {
    static unsigned readings;
    return ++readings % 2 ? 3600 : -3600;
}

int clock_gettime(clockid_t which, struct timespec *at) {
    int (*real)(clockid_t, struct timespec *) = dlsym(RTLD_NEXT, "clock_gettime");
    int code = real(which, at);
    if (which == CLOCK_REALTIME) at->tv_sec += jump();
    return code;
}

int gettimeofday(struct timeval *at, void *zone) {
    int (*real)(struct timeval *, void *) = dlsym(RTLD_NEXT, "gettimeofday");
    int code = real(at, zone);
    at->tv_sec += jump();
    return code;
}

time_t time(time_t *at) {
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    if (at) *at = now.tv_sec;
    return now.tv_sec;
}
"""


@pytest.fixture
def jumping_clock(tmp_path: Path) -> Path:
    """A library that makes the calendar clock jump."""
    compiler = shutil.which("cc")
    if compiler is None:
        pytest.skip("no C compiler to make the clock jump with")
    (tmp_path / "jumps.c").write_text(JUMPS)
    library = tmp_path / "jumps.so"
    subprocess.run([compiler, "-shared", "-fPIC", "-o", str(library), str(tmp_path / "jumps.c"), "-ldl"], check=True)
    return library


def test_a_calendar_clock_that_jumps_by_hours_changes_no_time(make: Callable[..., Weft], jumping_clock: Path) -> None:
    seen = subprocess.run(
        [sys.executable, "-c", "import time; print(abs(time.time() - time.time()) > 3000)"],
        env={**os.environ, "LD_PRELOAD": str(jumping_clock)}, capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert seen.stdout.strip() == "True", "the clock jumps"
    weft = make(launches=2, LD_PRELOAD=str(jumping_clock))
    done = weft.run()
    assert done.returncode == 0, done.stderr
    assert set(weft.statuses().values()) == {"ok"}
    for cell, launch in finished_cells(weft.folder):
        samples = read_cell(weft.folder, cell, launch).samples
        assert samples is not None
        durations = samples[:, :, 1]
        assert durations.min() >= 0
        assert durations.max() < 60e9, "no sample holds an hour"
    weft.nothing_is_left()


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of its own."""
    place = tmp_path / "disk"
    place.mkdir()
    mount = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=64m", "tmpfs", str(place)], capture_output=True, check=False
    )
    if mount.returncode:
        pytest.skip(f"a file system cannot be mounted here: {mount.stderr.decode().strip()}")
    yield place
    subprocess.run(["umount", "-l", str(place)], check=True)


def remounted(disk: Path) -> bool:
    """Whether what is mounted last could be made read-only."""
    words = ["mount", "-o", "remount,bind,ro", str(disk)]
    return subprocess.run(words, capture_output=True, check=False).returncode == 0


def test_a_disk_that_turns_read_only_is_one_message_and_the_same_command_goes_on(
    make: Callable[..., Weft], disk: Path
) -> None:
    weft = make(launches=3)
    weft.folder = disk / "run"
    process = weft.start()
    assert eventually(lambda: len(weft.finished()) >= 4, 60)
    # the same disk read-only over itself: files that are open for writing forbid a remount, as they do to any root
    subprocess.run(["mount", "--bind", str(disk), str(disk)], check=True)
    assert eventually(lambda: remounted(disk), 30), "files were open for writing all the time"
    _, err = process.communicate(timeout=120)
    assert process.returncode == 1, err
    assert "Traceback" not in err
    assert err.count("error:") == 1, err
    before = weft.finished()
    subprocess.run(["umount", "-l", str(disk)], check=True)
    again = weft.run()
    assert again.returncode == 0, again.stderr
    assert before.items() <= weft.finished().items()
    assert len(weft.finished()) == 4 * 3
    weft.nothing_is_left()


@pytest.mark.parametrize("files", [16, 40])
def test_too_few_open_files_are_a_message_or_a_row_and_no_traceback(make: Callable[..., Weft], files: int) -> None:
    weft = make(launches=1)
    weft.prefix = ("prlimit", f"--nofile={files}:{files}")
    done = weft.run()  # asserts that there is no traceback
    assert done.returncode in (0, 1), done.stderr
    if done.returncode == 1:
        assert "->" in done.stderr or set(weft.statuses().values()) - {"ok"}, done.stderr
    weft.prefix = ()
    assert weft.run().returncode == 0
    assert set(weft.statuses().values()) == {"ok"}
    weft.nothing_is_left()


#: In a user namespace that allows no others, and without the right to make any: what a hardened host looks like.
HARDENED = (
    "unshare", "--user", "--map-root-user", "sh", "-c",
    'echo 0 >/proc/sys/user/max_user_namespaces && exec setpriv --inh-caps=-sys_admin --bounding-set=-sys_admin "$@"',
    "sh",
)  # fmt: skip


def test_where_namespaces_are_forbidden_a_run_on_this_host_is_none_the_worse(make: Callable[..., Weft]) -> None:
    if subprocess.run([*HARDENED, "true"], capture_output=True, check=False).returncode:
        pytest.skip("no user namespace to forbid others in")
    assert subprocess.run([*HARDENED, "unshare", "--net", "true"], capture_output=True, check=False).returncode
    weft = make(launches=1)
    weft.prefix = HARDENED
    done = weft.run()
    assert done.returncode == 0, done.stderr
    assert set(weft.statuses().values()) == {"ok"}
    weft.nothing_is_left()
