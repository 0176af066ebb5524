# SPDX-License-Identifier: BSD-3-Clause
"""Verbs under conditions that are no mistake in Weft: each says what the host lacks, or works as everywhere."""

import json
import os
import resource
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from itertools import product
from pathlib import Path

import pytest

from made.kept import copy_of
from weft.run.failure import full_shared_memory

READS = {
    "show": ("show", "{run}", "--engine", "duckdb://"),
    "markdown": ("show", "{run}", "--format", "md"),
    "report": ("report", "{run}", "-o", "{here}/page.html"),
    "compare": ("compare", "{run}", "{other}"),
    "plan": ("plan", "contention", "--on", "local"),
    "fabric": ("fabric", "show", "local"),
    "doctor": ("doctor",),
    "list": ("list", "studies"),
}
LOCALES = {
    "C without coercion": {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"},
    "POSIX": {"LC_ALL": "POSIX"},
    "ASCII output": {"PYTHONIOENCODING": "ascii"},
    "Latin-1 output": {"PYTHONIOENCODING": "latin-1:strict"},
}


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """Two kept runs, one in a folder whose name is not ASCII."""
    place = tmp_path_factory.mktemp("conditions")
    run = copy_of("exchange", place)
    return run.rename(place / "Lauf µ"), copy_of("exchange", place)


def weft(
    verb: str,
    runs: tuple[Path, Path],
    here: Path,
    more: dict[str, str] | None = None,
    begin: Callable[[], None] | None = None,
) -> subprocess.CompletedProcess[str]:
    """Run a verb in a process of its own."""
    words = [word.format(run=runs[0], other=runs[1], here=here) for word in READS[verb]]
    return subprocess.run(
        [sys.executable, "-m", "weft", *words], capture_output=True, check=False, timeout=200, cwd=here,
        encoding="utf-8", errors="replace", env={**os.environ, **(more or {})}, preexec_fn=begin,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("verb", "locale"), [each for place, each in enumerate(product(READS, LOCALES)) if place % 5 == 0]
)
def test_a_locale_is_no_mistake(verb: str, locale: str, runs: tuple[Path, Path], tmp_path: Path) -> None:
    """Of the characters that an encoding lacks each ended a table: "a mistake in Weft"."""
    done = weft(verb, runs, tmp_path, LOCALES[locale])
    assert "Traceback" not in done.stderr
    assert "mistake" not in done.stderr
    assert done.returncode in ((0, 1) if verb == "doctor" else (0,)), done.stderr


def latin_1(place: Path) -> dict[str, str]:
    """A locale of that encoding, made here: few systems still have one."""
    made = subprocess.run(
        ["localedef", "-c", "-i", "en_US", "-f", "ISO-8859-1", place / "en_US.ISO-8859-1"], check=False,
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    if not (place / "en_US.ISO-8859-1" / "LC_CTYPE").exists():
        pytest.skip(f"localedef makes no locale of Latin-1 here (exit code {made.returncode}): apt install locales")
    return {"LOCPATH": str(place), "LC_ALL": "en_US.ISO-8859-1"}


@pytest.mark.parametrize("encoding", ["ascii", "latin-1", "utf-8"])
def test_the_output_has_the_encoding_of_the_user_whatever_python_starts_in(
    encoding: str, runs: tuple[Path, Path], tmp_path: Path
) -> None:
    """The start in UTF-8 mode wrote UTF-8 to terminals of another encoding."""
    more = {
        "ascii": lambda: LOCALES["C without coercion"],
        "latin-1": lambda: latin_1(tmp_path),
        "utf-8": lambda: LOCALES["POSIX"],  # Python takes it for UTF-8 (PEP 540)
    }[encoding]()
    done = subprocess.run(
        [sys.executable, "-m", "weft", "show", str(runs[1])], capture_output=True, check=True, timeout=200,
        env={**os.environ, **more},
    )  # fmt: skip
    told = done.stdout.decode(encoding)
    assert ("\u00b7" in told) == (encoding != "ascii"), told
    assert "\u00c2" not in told, "UTF-8 bytes on a terminal of Latin-1"


def test_what_a_verb_starts_has_the_environment_of_the_user(tmp_path: Path) -> None:
    program = (
        "import json, os; print(json.dumps({k: v for k, v in os.environ.items() if k.startswith(('PYTHON', 'WEFT'))}))"
    )
    start = f"import sys; sys.argv[1:] = []; from weft.cli.app import use_utf8; use_utf8(); {program}"
    given = {
        "LC_ALL": "C",
        "PYTHONUTF8": "0",
        "PYTHONCOERCECLOCALE": "0",
        "PYTHONPATH": os.environ.get("PYTHONPATH", ""),
    }
    (tmp_path / "start.py").write_text(start)
    for more in ({}, {"PYTHONIOENCODING": "latin-1"}):
        done = subprocess.run(
            [sys.executable, tmp_path / "start.py"], capture_output=True, check=True, env=given | more, timeout=60
        )
        assert json.loads(done.stdout) == {name: value for name, value in (given | more).items() if name != "LC_ALL"}


@pytest.mark.parametrize("verb", ["show", "plan"])
def test_a_deleted_working_folder_is_named(verb: str, runs: tuple[Path, Path], tmp_path: Path) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    done = weft(verb, runs, gone, begin=lambda: shutil.rmtree(gone))
    assert done.returncode == 1
    assert done.stderr.startswith("error: the working folder"), done.stderr


@pytest.mark.parametrize("verb", ["report"])
def test_a_limit_of_addresses_is_named(verb: str, runs: tuple[Path, Path], tmp_path: Path) -> None:
    """DuckDB and OpenBLAS ended the process by a signal."""
    done = weft(verb, runs, tmp_path, begin=lambda: resource.setrlimit(resource.RLIMIT_AS, (10**9, 10**9)))
    assert done.returncode == 1
    assert "ulimit -v" in done.stderr, done.stderr


def test_too_few_open_files_are_named(runs: tuple[Path, Path], tmp_path: Path) -> None:
    done = weft("show", runs, tmp_path, begin=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (12, 12)))
    assert done.returncode == 1
    assert "Traceback" not in done.stderr
    assert "ulimit -n" in done.stderr, done.stderr


def test_a_disk_without_inodes_is_named(runs: tuple[Path, Path], tmp_path: Path) -> None:
    """It was called full, with gigabytes free."""
    place = tmp_path / "small"
    place.mkdir()
    report = f"exec {sys.executable} -m weft report '{runs[0]}' -o {place}/a.html"
    show = f"mount -t tmpfs -o nr_inodes=1 tmpfs {place} && {report}"
    done = subprocess.run(["unshare", "-Urm", "sh", "-c", show], capture_output=True, text=True, check=False)
    if "unshare" in done.stderr or "mount:" in done.stderr:
        pytest.skip(f"no mount namespace here: {done.stderr.strip()}")
    assert done.returncode == 1
    assert "inode" in done.stderr, done.stderr


def test_a_full_folder_of_shared_memory_is_named_where_a_log_speaks_of_room(tmp_path: Path) -> None:
    """The launch named the last lines of the library, of which none says what is full."""
    log = tmp_path / "log"
    log.write_text("It appears as if there is not enough space for /dev/shm/vader_segment.vm.0\n")
    small = tmp_path / "small"
    small.mkdir()
    look = f"mount -t tmpfs -o size=64k tmpfs {small} && exec {sys.executable} -c "
    program = (
        "from pathlib import Path; from weft.run.failure import full_shared_memory; "
        f"print(full_shared_memory(Path('{log}'), Path('{small}')))"
    )
    done = subprocess.run(
        ["unshare", "-Urm", "sh", "-c", f'{look} "{program}"'], capture_output=True, text=True, check=False
    )
    if done.returncode:
        pytest.skip(f"no mount namespace here: {done.stderr.strip()}")
    assert "is full" in done.stdout
    log.write_text("an address is in use\n")
    assert full_shared_memory(log) == ""


@pytest.mark.parametrize("apart_s", [0.0, 0.05, 0.5])
def test_a_second_interrupt_prints_no_traceback(apart_s: float, runs: tuple[Path, Path], tmp_path: Path) -> None:
    words = [sys.executable, "-m", "weft", "show", str(runs[1]), "--engine", "duckdb://"]
    ready = tmp_path / "sitecustomize.py"
    ready.write_text(f"import weft.cli; open({str(tmp_path / 'ready')!r}, 'w').close()\n")
    running = subprocess.Popen(
        words, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
        env={**os.environ, "PYTHONPATH": f"{tmp_path}:{os.environ.get('PYTHONPATH', '')}"},
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )  # fmt: skip
    until = time.monotonic() + 60
    while not (tmp_path / "ready").exists() and time.monotonic() < until:
        time.sleep(0.01)
    time.sleep(0.6)
    running.send_signal(signal.SIGINT)
    time.sleep(apart_s)
    running.send_signal(signal.SIGINT)
    _, told = running.communicate(timeout=100)
    assert running.returncode in (0, 130, -signal.SIGINT)
    assert "Traceback" not in told
    assert "Exception ignored" not in told
