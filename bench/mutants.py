# SPDX-License-Identifier: BSD-3-Clause
"""Plant faults, one after the other, in a copy of the sources, and see that the named tests fail.

    python bench/mutants.py [src/ | native/ | WORD ...] [--mpicxx PATH] [--check | --applies] [--list FILE]

A mutant of `mutants.toml` is an expression of one function and what to write in its place. Words choose mutants by
file, rule or what they are. `--check` first runs the named tests on the unchanged copy: a test that fails anyway kills
nothing. `--applies` only looks whether expressions and tests are there. Exit code 1 if a mutant survives, does not
build or does not apply, or a test fails without one.
"""

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
import tomllib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from typing import Any

from places import Place, find_places

ROOT = Path(__file__).resolve().parents[1]
LIST = Path(__file__).with_suffix(".toml")
COPIED = (
    "src",
    "native",
    "tests",
    "docs",
    "studies",
    "fabrics",
    "schemas",
    "pyproject.toml",
    "README.md",
)
LIMIT_S, BUILD_LIMIT_S = 300.0, 3600.0
#: pytest in a copy: an editable install must not bring the sources of the original.
PYTEST = """
import sys
sys.meta_path = [each for each in sys.meta_path if "Editable" not in type(each).__name__ + str(type(each))
                 and "Redirecting" not in type(each).__name__]
sys.path.insert(0, "src")
import pytest, weft, os
assert os.path.realpath(weft.__file__).startswith(os.path.realpath("src")), weft.__file__
sys.exit(pytest.main(["-q", "-x", "-p", "no:cacheprovider", *sys.argv[1:]]))
"""


@dataclass(frozen=True)
class Mutant:
    """One fault: where, the expression there, what is written instead, which rule it breaks, which tests must fail."""

    rule: str
    what: str
    within: str
    function: str
    expression: str
    by: str
    tests: tuple[str, ...]
    ranks: int = 1

    @property
    def is_native(self) -> bool:
        """Whether it needs a build."""
        return self.within.startswith("native")

    @cached_property
    def place(self) -> Place:
        """Where it is planted; LookupError unless there is one place."""
        places = find_places(ROOT, self.within, self.function, self.expression)
        if len(places) != 1:
            where = f"{self.function or 'any function'} below {self.within}"
            raise LookupError(f"{where} has {len(places)} times what {self.what!r} replaces: {self.expression}")
        return places[0]

    @property
    def file(self) -> str:
        """Path of the source file, below the checkout."""
        return str(self.place.file.relative_to(ROOT))


def mutants(path: Path = LIST) -> list[Mutant]:
    """All mutants of a list."""
    found: list[dict[str, Any]] = tomllib.loads(path.read_text(encoding="utf-8"))["mutant"]
    words = ("rule", "what", "within", "expression", "by")
    return [
        Mutant(
            function=each.get("function", ""), tests=tuple(each["tests"]), ranks=each.get("ranks", 1),
            **{word: each[word] for word in words},
        )
        for each in found
    ]  # fmt: skip


@cache
def tests_by_name(root: Path) -> dict[str, list[str]]:
    """Files with a test of each name: a function, a doctest case, or a launch that CMake registers."""
    found: dict[str, list[str]] = {}
    for folder, files, pattern in (
        ("tests", "test_*.py", r"^\s*def (test_\w+)\("),
        ("native/tests", "test_*.cpp", r'TEST_CASE\("((?:\\.|[^"\\])*)"\)'),
        ("native/tests", "*.cmake", r"_test\(([\w-]+) "),
    ):
        for path in sorted((root / folder).rglob(files)):
            text = re.sub(r'"\n\s+"', "", path.read_text())
            for name in set(re.findall(pattern, text, re.MULTILINE)):
                found.setdefault(name, []).append(str(path.relative_to(root)))
    return found


def find_test(test: str) -> tuple[str, str]:
    """File and name of a test that is given by its name, or by ``FILE: NAME`` where a name is in two files.

    Raises
    ------
    LookupError
        There is none, or more than one.
    """
    file, colon, name = test.partition(": ")
    files = tests_by_name(ROOT).get(name if colon and "/" in file else test, [])
    if colon and "/" in file:
        files = [each for each in files if each == file]
    else:
        name = test
    if len(files) != 1:
        raise LookupError(f"{len(files)} tests are named {test!r}")
    return files[0], name


def applies(mutant: Mutant) -> str:
    """Why a mutant cannot be planted, or its tests not be run; empty if all is there."""
    try:
        files = [mutant.file, *(find_test(test)[0] for test in mutant.tests)]
    except LookupError as error:
        return str(error)
    return (
        "" if mutant.tests and len({file.startswith("native/") for file in files}) == 1 else "no test of its language"
    )


def chosen(every: Iterable[Mutant], words: Sequence[str]) -> list[Mutant]:
    """Those that any of the words names, by the start of the file, by rule or by a part of what they are."""
    return [
        each
        for each in every
        if not words or any(each.file.startswith(word) or word == each.rule or word in each.what for word in words)
    ]


class Copy:
    """A copy of the sources in which one mutant at a time is planted.

    Parameters
    ----------
    folder
        Where it is made.
    mpicxx
        The compiler wrapper with which native suites are built.
    """

    def __init__(self, folder: Path, mpicxx: str) -> None:
        self.folder, self.mpicxx, self.build = folder, mpicxx, folder / "build"
        for name in COPIED:
            source = ROOT / name
            if source.is_dir():
                shutil.copytree(source, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
            elif source.is_file():
                shutil.copy(source, folder / name)

    def plant(self, mutant: Mutant) -> None:
        """Write the mutant's text in the place of the original."""
        place, text = mutant.place, mutant.place.file.read_text()
        (self.folder / mutant.file).write_text(text[: place.start] + mutant.by + text[place.end :])

    def heal(self, mutant: Mutant) -> None:
        """Write the original back."""
        (self.folder / mutant.file).write_text((ROOT / mutant.file).read_text())

    def outcome(self, test: str, ranks: int) -> str:
        """What a test does: ``passed``, ``failed``, or why it could not run."""
        file, name = find_test(test)
        if file.startswith("native/"):
            return self._native(file, name, ranks)
        done = self._run([sys.executable, "-c", PYTEST, f"{file}::{name}"])
        return {0: "passed", 1: "failed"}.get(done, f"pytest ended with {done}")

    def _native(self, file: str, name: str, ranks: int) -> str:
        if not (self.build / "build.ninja").is_file():
            options = ["-DWEFT_TESTS=ON", f"-DMPI_CXX_COMPILER={self.mpicxx}", "-DCMAKE_BUILD_TYPE=Plain"]
            if self._run(["cmake", "-G", "Ninja", *options, "-S", "native", "-B", "build"]):
                return "CMake failed"
        case = Path(file).stem.removeprefix("test_") if file.endswith(".cpp") else ""
        if case and Path(file).parent.name == "alltoall":
            case = f"alltoall.{case}"
        target = f"test_{case.replace('.', '_')}" if case else "weft-measure"
        if self._run(["cmake", "--build", "build", "-j", "2", "--target", target], limit_s=BUILD_LIMIT_S):
            return "does not build"
        command, environment = self._registered(case or f"launch.{name}", ranks)
        if case:
            command.append(f"--test-case={name.replace(',', '?')}")
        return "passed" if self._run(command, environment) == 0 else "failed"

    def _registered(self, name: str, ranks: int) -> tuple[list[str], dict[str, str]]:
        """Command and environment of a test as CTest has it: with the ranks wanted, whatever its suffix."""
        listed = subprocess.run(
            ["ctest", "--test-dir", "build", "--show-only=json-v1"],
            cwd=self.folder, capture_output=True, check=True, encoding="utf-8", errors="replace",
        ).stdout  # fmt: skip
        for test in json.loads(listed)["tests"]:
            parts = test["name"].split(".")
            own = test["name"].rsplit(".", 1)[0]
            if (own == name or parts[0] == name) and parts[-1] == str(ranks):
                given = {each["name"]: each["value"] for each in test["properties"]}
                environment = dict(each.split("=", 1) for each in given.get("ENVIRONMENT", []) if "=" in each)
                command = [word for word in test["command"] if not word.startswith("--test-case=")]
                return command, environment
        raise SystemExit(f"no native test {name} with {ranks} ranks")

    def _run(self, command: Sequence[str], environment: dict[str, str] | None = None, limit_s: float = LIMIT_S) -> int:
        """Exit code of a command in the copy; one that hangs has failed (1)."""
        given = {**os.environ, **(environment or {}), "PYTHONDONTWRITEBYTECODE": "1"}
        with (self.folder / "log").open("w") as log:
            try:
                return subprocess.run(
                    command, cwd=self.folder, env=given, stdout=log, stderr=log, timeout=limit_s, check=False
                ).returncode
            except subprocess.TimeoutExpired:
                return 1

    def said(self) -> str:
        """The last lines of what ran last."""
        return "\n".join((self.folder / "log").read_text(errors="replace").splitlines()[-12:])


def judged(copy: Copy, mutant: Mutant) -> str:
    """``killed``, or why it is not."""
    copy.plant(mutant)
    try:
        found = {test: copy.outcome(test, mutant.ranks) for test in mutant.tests}
    finally:
        copy.heal(mutant)
    wrong = [f"{find_test(test)[1]}: {outcome}" for test, outcome in found.items() if outcome != "failed"]
    return "; ".join(wrong) or "killed"


def main() -> int:
    """Plant the chosen mutants; 1 if any survives."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("words", nargs="*", help="which mutants: src/, native/, a rule, or a part of what they are")
    parser.add_argument("--mpicxx", default=shutil.which("mpicxx") or "mpicxx", help="for native suites")
    parser.add_argument("--check", action="store_true", help="run the tests without a mutant first")
    parser.add_argument("--list", type=Path, default=LIST, help="the mutants: bench/mutants.toml or one like it")
    parser.add_argument("--applies", action="store_true", help="only look whether each can be planted")
    given = parser.parse_args()
    missing = [why for each in mutants(given.list) if (why := applies(each))]
    if missing or given.applies:
        print("\n".join([*missing, f"{len(missing)} mutants cannot be planted"]))
        return 1 if missing else 0
    found, wrong = chosen(mutants(given.list), given.words), list[str]()
    with tempfile.TemporaryDirectory(prefix="weft-mutants-") as folder:
        copy = Copy(Path(folder), str(Path(given.mpicxx).absolute()))
        if given.check:
            for test, ranks in sorted({(test, each.ranks) for each in found for test in each.tests}):
                if (outcome := copy.outcome(test, ranks)) != "passed":
                    wrong.append(test)
                    print(f"WITHOUT A MUTANT {outcome}: {test}\n{copy.said()}", flush=True)
        for each in found:
            began = time.monotonic()
            outcome = judged(copy, each)
            if outcome != "killed":
                wrong.append(each.what)
                outcome = f"SURVIVED: {outcome}\n{copy.said()}"
            print(f"rule {each.rule:>2}  {each.what}  [{time.monotonic() - began:.0f} s]  {outcome}", flush=True)
    print(f"{len(found) - len(set(wrong))} of {len(found)} mutants killed")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
