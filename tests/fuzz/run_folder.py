# SPDX-License-Identifier: BSD-3-Clause
"""A whole run folder with one file changed, as `weft show`, `report`, `compare` and `weft run` read it."""

import atexit
import json
import shutil
import sys
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))  # Atheris starts this by path

from made.kept import copy_of, kept_runs
from weft.errors import WeftError
from weft.plan.records import HASH, hash_of, plan_of
from weft.plan.wire import flat_plan
from weft.report.compare import tables as compare_tables
from weft.report.compare.load import load_compare
from weft.report.page import write
from weft.report.tables import render
from weft.report.view import load_view
from weft.run.refresh import refresh
from weft.run.walk import pending
from weft.store.folder import RunFolder

#: What a value of a record or plan is replaced by.
VALUES: tuple[Any, ...] = (
    None, True, 0, -1, 1, 2**31, 2**63 - 1, 2**64, 1e-300, 1e308, "", "x", "../../..", "\x1b[31m[red]", [], [[]], {},
    {"a": None}, [None], "c000", "ok", "floor", [1, 2, 3], float("nan"), "9" * 5000, {"": {"": {"": []}}},
)  # fmt: skip
GONE = len(VALUES)
"""Stands for: the key or element is taken out."""


@lru_cache(maxsize=1)
def place() -> Path:
    """A folder with the kept runs, their tables made; stays until this process ends."""
    import tempfile

    folder = Path(tempfile.mkdtemp(prefix="weft-fuzz-runs"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    for name in kept_runs():
        refresh(copy_of(name, folder))
    return folder


@lru_cache(maxsize=1)
def texts() -> tuple[tuple[str, str], ...]:
    """Run and name of each JSON file: that is what a value can be replaced in."""
    found = ((path.relative_to(place()).parts, path) for path in sorted(place().rglob("*.json")))
    return tuple((parts[0], str(Path(*parts[1:]))) for parts, _ in found if parts[1] != "tables")


@lru_cache(maxsize=1)
def all_files() -> tuple[tuple[str, str], ...]:
    """Run and name of every file."""
    found = (path.relative_to(place()).parts for path in sorted(place().rglob("*")) if path.is_file())
    return tuple((parts[0], str(Path(*parts[1:]))) for parts in found)


def leaves(tree: Any) -> Iterator[tuple[Any, Any]]:
    """Each container and key of a tree, in order."""
    entries = tree.items() if isinstance(tree, dict) else enumerate(tree) if isinstance(tree, list) else ()
    for key, part in list(entries):
        yield tree, key
        yield from leaves(part)


def use(run: Path, other: Path) -> None:
    """Read a run as the verbs do. Only a WeftError may come out, and one part's error is no reason to skip the next."""

    def shown() -> None:
        refresh(run)
        view = load_view(run)
        for form in ("text", "md", "csv", "latex", "json"):
            render(view, form)
        write([run], run / "report.html", files_too=False)

    def resumed() -> None:
        folder = RunFolder.open(run)
        plan = plan_of(folder)
        for step in pending(folder, plan):
            flat_plan(plan, step.launch, run, cells=step.cells)

    def compared() -> None:
        found = load_compare([other, run])
        compare_tables.render(found, (), "text")

    refused: WeftError | None = None
    for part in (shown, resumed, compared):
        try:
            part()
        except WeftError as error:
            refused = error
    if refused:
        raise refused


def as_run_with_file(path: Path) -> None:
    """A run in which one file has other bytes: ``<number of the file>`` on the first line, then what it holds."""
    number, _, content = path.read_bytes().partition(b"\n")
    if not number.isdigit() or len(number) > 6:
        return
    name, file = all_files()[int(number) % len(all_files())]
    run = copied(path, name)
    (run / file).write_bytes(content)
    use(run, place() / name)


def as_run_with_value(path: Path) -> None:
    """A run in which one value is another one, signed anew: three numbers, of the file, of the value, of the other."""
    words = path.read_bytes().split()
    if len(words) != 3 or not all(word.isdigit() and len(word) < 9 for word in words):
        return
    where, which, what = (int(word) for word in words)
    name, file = texts()[where % len(texts())]
    run = copied(path, name)
    tree = json.loads((run / file).read_text())
    found = list(leaves(tree))
    owner, key = found[which % len(found)]
    if what % (GONE + 1) == GONE:
        del owner[key]
    else:
        owner[key] = VALUES[what % (GONE + 1)]
    (run / file).write_text(json.dumps(tree))
    sign(run)
    use(run, place() / name)


def copied(path: Path, name: str) -> Path:
    """A fresh copy of a kept run beside the input."""
    run = path.parent / "run"
    shutil.rmtree(run, ignore_errors=True)
    return Path(shutil.copytree(place() / name, run))


def sign(run: Path) -> None:
    """Let weft.json say that the plan is its own, as an attacker would."""
    folder = RunFolder(run)
    meta = json.loads(folder.meta.read_text())
    if isinstance(meta, dict) and HASH in meta:
        folder.meta.write_text(json.dumps(meta | {HASH: hash_of(folder.plan.read_bytes())}))


def file_seeds() -> tuple[bytes, ...]:
    """Every fifth file as it is."""
    return tuple(
        b"%d\n" % number + (place() / name / file).read_bytes()
        for number, (name, file) in enumerate(all_files())
        if number % 5 == 0
    )


def value_seeds() -> tuple[bytes, ...]:
    """One value of each JSON file."""
    return tuple(b"%d %d %d" % (number, 7 * number, number) for number in range(len(texts())))
