# SPDX-License-Identifier: BSD-3-Clause
"""A whole run folder with one file changed, as `weft show`, `report`, `why`, `compare` and `weft run` read it."""

import atexit
import json
import shutil
import sys
from collections.abc import Iterator
from contextlib import nullcontext
from functools import lru_cache
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))  # Atheris starts this by path

import pyarrow as pa
import pyarrow.parquet as pq

from made.kept import copy_of, kept_runs
from weft.errors import WeftError
from weft.plan.stored import HASH, hash_of, plan_of
from weft.plan.wire import flat_plan
from weft.report.card import as_json as why_json
from weft.report.card import as_text as why_text
from weft.report.compare import load_compare
from weft.report.compare import page as compare_page
from weft.report.compare import tables as compare_tables
from weft.report.page import write
from weft.report.tables import render
from weft.report.view import load_view
from weft.run.refresh import reading, refresh, write_manifest
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


def shown(run: Path, _: Path) -> None:
    """As ``weft show`` reads a run."""
    view = load_view(refresh(run))
    for form in ("text", "md", "csv", "latex", "json"):
        render(view, form)


def reported(run: Path, other: Path) -> None:
    """As ``weft report`` reads two."""
    refresh(run)
    write([run, other], run / "report.html")


def explained(run: Path, _: Path) -> None:
    """As ``weft why`` reads a run."""
    view = load_view(refresh(run))
    why_text(view)
    why_json(view)


def resumed(run: Path, _: Path) -> None:
    """As ``weft run`` reads what it goes on with."""
    folder = RunFolder.open(run)
    plan = plan_of(folder)
    for step in pending(folder, plan):
        flat_plan(plan, step.launch, run, cells=step.cells)


def compared(run: Path, other: Path) -> None:
    """As ``weft compare`` reads two."""
    refresh(run)
    found = load_compare([other, run])
    for form in ("text", "md", "csv", "json"):
        compare_tables.render(found, (), form)
    compare_page.write(found, (), run / "compare.html")


def use(run: Path, other: Path) -> None:
    """Read a run as the verbs do. Only a WeftError may come out, and one part's error is no reason to skip the next.

    The kept runs have no breakdown, which ``weft why`` says of good ones, too: that refuses nothing.
    """
    refused: WeftError | None = None
    for part in (shown, reported, explained, compared, resumed):
        guard = nullcontext() if part is resumed else reading(run, other)
        try:
            with guard:
                part(run, other)
        except WeftError as error:
            refused = refused if part is explained else error
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


def as_run_with_table(path: Path) -> None:
    """A run in which one table is another one, signed anew: numbers of the table, of a column or table, of a value."""
    words = path.read_bytes().split()
    if len(words) != 3 or not all(word.isdigit() and len(word) < 9 for word in words):
        return
    where, which, what = (int(word) for word in words)
    name, file = made_tables()[where % len(made_tables())]
    run = copied(path, name)
    others = [each for each in made_tables() if each[0] == name]
    table = pq.read_table(run / file)
    if what % 4 == 0:
        table = pq.read_table(run / others[which % len(others)][1])
    elif what % 4 == 1 and table.num_columns > 1:
        table = table.remove_column(which % table.num_columns)
    elif what % 4 == 2:
        table = table.slice(which % (table.num_rows + 1), what)
    elif table.num_columns:
        column = which % table.num_columns
        field = table.schema.field(column)
        value = VALUES[what // 4 % GONE]
        try:
            replaced = pa.array([value] * table.num_rows, field.type)
        except (pa.ArrowException, OverflowError, TypeError, ValueError):
            return
        table = table.set_column(column, field.with_nullable(True), replaced)  # a stranger's file may have nulls there
    pq.write_table(table, run / file)
    write_manifest(RunFolder(run))
    use(run, place() / name)


@lru_cache(maxsize=1)
def made_tables() -> tuple[tuple[str, str], ...]:
    """Run and name of each table."""
    return tuple(each for each in all_files() if each[1].endswith(".parquet"))


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


def table_seeds() -> tuple[bytes, ...]:
    """One change of each table."""
    return tuple(b"%d %d %d" % (number, 3 * number, number) for number in range(len(made_tables())))
