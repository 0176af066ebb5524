# SPDX-License-Identifier: BSD-3-Clause
"""Run a level of tests, count them, and print one closing line: ``N passed, N failed, N skipped in N s``.

    python tests/suite.py check | test | long [PART ...]

`check` is for every change, `test` guards all behaviour once, `long` is what `make test-all` adds (docs/dev/tests.md).
Parts named limit the level to them. A part that fails does not stop the others. Standard library only.
"""

import argparse
import os
import shutil
import subprocess
import sys
import time
import xml.etree.ElementTree as ElementTree
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PROGRAMS = Path(sys.executable).parent
RESULTS = ROOT / "build" / "results"

#: Rooms whose tests start ranks.
RANK_ROOMS = ("tests/mpi", "tests/virtual", "tests/slurm")
#: Their files that run alone, one test after the other: those that judge how long ranks took, and all that stand up a
#: cluster, of which another test would take over one of the same name. All others run three files at a time.
TIMED = [
    *(
        f"tests/mpi/test_{name}.py"
        for name in ("audit", "bounds_under_load", "confirm", "eager_limit", "lost_time", "trace_cost", "why")
    ),
    *sorted(
        str(path.relative_to(ROOT))
        for room in ("virtual", "slurm")
        for path in (ROOT / "tests" / room).glob("test_*.py")
    ),
]


#: Files and tests that `check` leaves to `test`: they start Spark, build a wheel or a library, hide packages, ask about
#: this machine or pages of docs, do what every error advises, send signals, close outputs, make tables after each round
#: of a run, draw every picture, flip bits, fill memories, or take many seeds. Half of the time of all.
NOT_EACH_TIME = [
    *(
        f"tests/flow/test_{name}.py"
        for name in (
            *("conditions", "engines", "hostile_names", "interrupts", "keeper", "opensm", "output", "remedies"),
            *("nights", "refined_runs", "slim", "trend_verb"),
        )
    ),
    *(
        f"tests/unit/test_{name}.py"
        for name in ("benches", "docs_figures", "doctor_here", "packaging", "printed_commands", "wheel")
    ),
    *(
        f"tests/unit/analyse/{name}.py"
        for name in (
            *(f"outliers/test_{name}" for name in ("attribution", "few_rounds", "outlier_doubts", "slow_cables")),
            *("compare/test_trend", "pairs/test_pair_statistics", "thresholds/test_changeover"),
            *("test_interrupted_queries", "test_many_samples"),
        )
    ),
    *(f"tests/unit/files/test_{name}.py" for name in ("bombs", "flipped_bits", "fuzzed_files", "links_of_strangers")),
    *(f"tests/unit/report/test_{name}.py" for name in ("every_output", "figures", "many_cells")),
    *("tests/unit/fabric/test_fabric_drawing.py", "tests/unit/launch/test_route_library.py"),
]

#: Where temporary files of tests are if so many bytes are free there: on a disk tests take a quarter longer.
MEMORY, MUCH = Path("/dev/shm"), 4 << 30
OURS = f"weft-tests-{os.getpid()}"


MUTANTS: list[list[str]] = [[], *(["--list", f"bench/mutants_{name}.toml"] for name in ("alltoall", "check"))]


@dataclass(frozen=True)
class Part:
    """Commands run one after the other; each may write its tests as JUnit XML below `RESULTS`.

    Parameters
    ----------
    beside
        Whether it runs beside the parts that follow, because it disturbs none of them.
    """

    name: str
    commands: tuple[Sequence[str], ...]
    beside: bool = False


@dataclass
class Count:
    """How many tests a part ran, and how it ended."""

    passed: int = 0
    failed: int = 0
    skipped: int = 0
    seconds: float = 0.0
    names: list[str] = field(default_factory=list[str])

    def add(self, other: "Count") -> None:
        """Add the tests of another part."""
        self.passed += other.passed
        self.failed += other.failed
        self.skipped += other.skipped
        self.names += other.names

    def __str__(self) -> str:
        return f"{self.passed} passed, {self.failed} failed, {self.skipped} skipped"


def pytest(result: str, *words: str, at_once: int = 1, chosen: str = "not long") -> list[str]:
    """One start of pytest; `at_once`: so many tests at a time."""
    spread = ("--dist", "loadfile" if result == "untimed" else "worksteal")
    several = ["--numprocesses", f"{at_once}", *spread] if at_once > 1 else []
    xml = f"--junitxml={RESULTS / f'{result}.xml'}"
    return [sys.executable, "-m", "pytest", "-q", "-m", chosen, *several, xml, "-o", "junit_family=xunit1", *words]


def in_memory(name: str) -> list[str]:
    """Words that keep temporary files of tests in memory where there is much, each until its test has passed."""
    if not MEMORY.is_dir() or os.statvfs(MEMORY).f_flag & os.ST_NOEXEC or shutil.disk_usage(MEMORY).free < MUCH:
        return []  # tests start programs that they write
    return [f"--basetemp={MEMORY / f'{OURS}-{name}'}", "-o", "tmp_path_retention_policy=failed"]


def drop_temporary(kept: str = "") -> None:
    """Remove what runs of tests that have ended left in memory, and what this one did; a failed one's is ``kept``."""
    for left in MEMORY.glob("weft-tests-*"):
        owner = left.name.split("-")[2]
        if not (kept and left.name.startswith(kept)) and (
            owner == str(os.getpid()) or not Path("/proc", owner).exists()
        ):
            shutil.rmtree(left, ignore_errors=True)
    if left := sorted(MEMORY.glob(f"{kept}-*")) if kept else []:
        print("files of failed tests, until the next run:", *left)


def without(names: Iterable[str]) -> list[str]:
    """Words that leave out files, folders or single tests."""
    return [f"--{'deselect' if '::' in name else 'ignore'}={name}" for name in names]


def native(*words: str) -> list[str]:
    """Native suites; their results become one file for each MPI."""
    return [sys.executable, "tests/native.py", "--results", str(RESULTS), *words]


def program(name: str, *words: str) -> list[str]:
    """A program of this environment, or of PATH."""
    own = PROGRAMS / name
    return [str(own) if own.exists() else shutil.which(name) or name, *words]


def levels() -> dict[str, list[Part]]:
    """What each level runs, in order."""
    style = Part("style", (program("ruff", "check", "-q", "."), program("ruff", "format", "-q", "--check", ".")))
    types = Part("types", (program("pyrefly", "check", "--output-format", "min-text"),), beside=True)
    strict = Part("types", (program("pyright"),), beside=True)
    docs = Part("docs", (program("sphinx-build", "-W", "-q", "docs", "docs/_build/html"),), beside=True)
    unit = pytest("unit", "tests/unit", "tests/flow", *without(NOT_EACH_TIME), *in_memory("unit"), at_once=2)
    others = pytest("others", "tests", *without(RANK_ROOMS), *in_memory("others"), at_once=2)
    ranks = pytest("ranks", *TIMED)
    untimed = pytest("untimed", *RANK_ROOMS, *without(TIMED), at_once=3)  # a third of their time they wait
    return {
        "check": [style, types, Part("native", (native("--level", "check"),)), Part("python", (unit,))],
        "test": [
            style,
            types,
            docs,
            Part("native", (native("--level", "test"),)),
            Part("python", (others,)),
            Part("untimed", (untimed,)),
            Part("ranks", (ranks,)),
        ],
        "long": [
            strict,
            Part("native", (native("--level", "long"),)),
            Part("python", (pytest("long", "tests", chosen="long"),)),
            Part("mutants", tuple([sys.executable, "bench/mutants.py", "--check", *each] for each in MUTANTS)),
        ],
    }


def counted(files: Iterable[Path]) -> Count:
    """Tests in files of JUnit XML, as pytest and CTest write them."""
    found = Count()
    for path in files:
        for case in ElementTree.parse(path).getroot().iter("testcase"):
            if case.find("failure") is not None or case.find("error") is not None or case.get("status") == "fail":
                found.failed += 1
                found.names.append("::".join(filter(None, (case.get("file") or path.stem, case.get("name")))))
            elif case.find("skipped") is not None or case.get("status") in ("notrun", "disabled"):
                found.skipped += 1
            else:
                found.passed += 1
    return found


def surroundings() -> dict[str, str]:
    """Our programs first on PATH; compiled tests are kept, which is a third of the time to collect them."""
    kept = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    return {**kept, "PATH": f"{PROGRAMS}{os.pathsep}{os.environ['PATH']}"}


def run(part: Part) -> list[int]:
    """Exit codes of a part's commands."""
    codes: list[int] = []
    for command in part.commands:
        print("+", " ".join(command), flush=True)
        codes.append(subprocess.run(command, cwd=ROOT, env=surroundings(), check=False).returncode)
    return codes


def ended(part: Part, codes: Sequence[int], before: set[Path], began: float) -> Count:
    """What a part's results and exit codes say: a command that fails without a failed test is one failure."""
    found = counted(sorted(set(RESULTS.glob("*.xml")) - before))
    found.seconds = time.monotonic() - began
    if any(codes) and not found.failed:
        found.failed = 1
        found.names.append(f"{part.name}: exit code {max(codes, key=abs)}")
    elif not any(codes) and not found.passed:
        found.passed = 1  # a part that is one test: style, types, docs
    return found


def run_level(parts: Iterable[Part]) -> Count:
    """Run parts, those beside others in the background; all tests together."""
    shutil.rmtree(RESULTS, ignore_errors=True)
    RESULTS.mkdir(parents=True)
    began, every, lines = time.monotonic(), Count(), list[str]()
    waiting: list[tuple[Part, subprocess.Popen[bytes], float]] = []

    def note(part: Part, found: Count) -> None:
        every.add(found)
        lines.append(f"{part.name:10} {found} in {found.seconds:.0f} s")

    for part in parts:
        start = time.monotonic()
        if part.beside:
            print("+", " ".join(part.commands[0]), "(beside)", flush=True)
            waiting.append((part, subprocess.Popen(part.commands[0], cwd=ROOT, env=surroundings()), start))
            continue
        before = set(RESULTS.glob("*.xml"))
        note(part, ended(part, run(part), before, start))
    for part, process, start in waiting:
        note(part, ended(part, [process.wait()], set(RESULTS.glob("*.xml")), start))
    every.seconds = time.monotonic() - began
    print("\n".join(["", *(f"FAILED {name}" for name in every.names), *lines]))
    return every


def main(words: Sequence[str]) -> int:
    """Run a level; 1 if anything failed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("level", choices=("check", "test", "long"))
    parser.add_argument("parts", nargs="*", help="only these: style, types, native, python, ...")
    given = parser.parse_args(words)
    parts = levels()[given.level]
    unknown = set(given.parts) - {part.name for part in parts}
    if unknown:
        parser.error(f"{given.level} has no part {', '.join(sorted(unknown))}: {' '.join(part.name for part in parts)}")
    drop_temporary()
    found = run_level([part for part in parts if not given.parts or part.name in given.parts])
    drop_temporary(kept=OURS if found.failed else "")
    print(f"{found} in {found.seconds:.0f} s")
    return 1 if found.failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
