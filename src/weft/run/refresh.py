# SPDX-License-Identifier: BSD-3-Clause
"""Bringing a run's samples and tables up to date with its cells."""

import os
import traceback
import zlib
from collections.abc import Generator, Iterable
from contextlib import contextmanager, suppress
from pathlib import Path
from shlex import quote
from typing import Any

from weft.analyse.tables.manifest import MADE_BY, MANIFEST, analysis_digest
from weft.errors import CompareError, DataError, WeftError
from weft.files.atomic import file_checksum, read_json, try_remove, write_json
from weft.plan.stored import plan_of
from weft.store.folder import RunFolder, check_copies
from weft.text import one_line

# entries of the manifest that are no tables: see `sources`; checksums of the samples that the next tables are made of
MADE_OF, SAMPLES = "made of", "samples"


def refresh(path: Path, engine: str | None = None) -> RunFolder:
    """Open a run and make samples and tables, if stale, torn, or an ``engine`` is given; DataError if impossible."""
    folder = RunFolder.open(path)
    check_copies(folder)
    if engine is not None or stale(folder):
        make_tables(folder, engine or "duckdb://")
    return folder


def refresh_compared(paths: Iterable[Path]) -> None:
    """Refresh runs to compare; CompareError (exit code 2) lest a gate report a mistyped path as a slow network."""
    for path in paths:
        try:
            refresh(path)
        except DataError as problem:
            raise CompareError(problem.what, problem.remedy) from None


def make_tables(folder: RunFolder, engine: str = "duckdb://") -> None:
    """Make samples and tables of a run from its cells, even if they exist; DataError for torn cells, or no engine."""
    from weft.analyse import make  # half a second of imports that planning and launching do not need
    from weft.store import parquet

    inner = folder.inner("confirm")
    if inner is not None and stale(inner):
        make_tables(inner, engine)  # the knobs that were moved are judged in the tables of the run
    manifest, origin = folder.tables / MANIFEST, plan_of(folder).origin(folder.run_id())
    made_of = sources(folder)  # before the first is read: a cell may be finished meanwhile
    samples = whole_samples(folder)
    try_remove(manifest)
    try:
        parquet.convert(folder, origin, whole=samples)
        try:
            make.make_tables(folder, engine)
        except (DataError, *unfit()):
            parquet.convert(folder, origin, whole=())
            make.make_tables(folder, engine)
    except unfit() as problem:
        raise DataError(
            f"{folder.path}: no tables can be made of its plan and records: {describe_problem(problem)}",
            f"if its files were changed, bring the originals back or {folder.measure_anew()}; otherwise this is a "
            "mistake in Weft: report it with these lines",
        ) from problem
    write_manifest(folder, made_of)


def write_manifest(folder: RunFolder, made_of: str = "") -> None:
    """Write the checksums of the tables as they are, and the `sources` that they were made of; by default those now."""
    made = {MADE_OF: made_of or sources(folder), MADE_BY: analysis_digest(), SAMPLES: checksums(folder.samples)}
    write_json(folder.tables / MANIFEST, checksums(folder.tables) | made)


def checksums(place: Path) -> dict[str, str]:
    """Checksum of each Parquet file of a folder and below, by its path there."""
    return {str(path.relative_to(place)): file_checksum(path) for path in sorted(place.rglob("*.parquet"))}


def whole_samples(folder: RunFolder) -> set[str]:
    """Names of the files of samples that are, with those of pairs beside them, what the last tables were made of."""
    try:
        noted: dict[str, str] = read_json(folder.tables / MANIFEST)[SAMPLES]
        found = checksums(folder.samples)
        return set(found) - {Path(name).name for name in found | noted if found.get(name) != noted.get(name)}
    except (DataError, OSError, LookupError, AttributeError):
        return set()


def sources(folder: RunFolder) -> str:
    """CRC-32 of names and contents of all records, of the plan and the load: times and sizes alone may be the same."""
    found = [f"{place.name} {file_checksum(place)}" for place in (folder.plan, folder.load) if place.is_file()]
    for place in (folder.cells, folder.launches):
        with suppress(OSError), os.scandir(place) as entries:
            records = [Path(each.path) for each in entries if each.name.endswith(".json")]
            found += [f"{path.name} {file_checksum(path)}" for path in records]
    return f"{zlib.crc32(chr(10).join(sorted(found)).encode(errors='surrogateescape')):08x}"


def unfit() -> tuple[type[Exception], ...]:
    """What comes of files that are each well formed and yet do not make a whole."""
    import duckdb
    import pyarrow

    pa: Any = pyarrow  # it comes without types
    data = (LookupError, TypeError, ValueError, ArithmeticError, AttributeError, RecursionError)
    return (*data, OSError, duckdb.Error, pa.lib.ArrowException)


def describe_problem(problem: Exception) -> str:
    """An exception and where it came from, on one line."""
    last = traceback.extract_tb(problem.__traceback__)[-1]
    return f"{type(problem).__name__}: {one_line(str(problem))[:200]} ({Path(last.filename).name}, line {last.lineno})"


@contextmanager
def reading(*runs: Path, kind: type[WeftError] = DataError) -> Generator[None, None, None]:
    """Draw from tables of runs; WeftError if they, edited with their checksums, do not make a whole."""
    try:
        yield
    except OSError:
        raise  # of a file that is written; `read_table` names those that are read
    except unfit() as problem:
        anew = " and ".join(f"`weft show {quote(str(run))} --engine duckdb://`" for run in runs)
        raise kind(
            f"{', '.join(map(str, runs))}: the tables do not fit together: {describe_problem(problem)}",
            f"{anew} makes them anew from the cells; if this error comes again, it is a mistake in Weft: report it "
            "with these lines",
        ) from problem


def stale(folder: RunFolder) -> bool:
    """Whether a cell or launch was written after the last table was, or a table is not what this analysis writes."""
    from weft.analyse.tables.every import has_tables  # not where tables cannot be made

    manifest = folder.tables / MANIFEST
    plan = plan_of(folder)
    if not has_tables(folder.path, plan.most_answers, plan.most_rows) or not manifest.is_file():
        return True
    made = manifest.stat().st_mtime_ns
    sources = [folder.plan, folder.load, folder.cells, folder.launches]
    sources += [*folder.cells.glob("*.json"), *folder.launches.glob("*.json")]
    return any(source.stat().st_mtime_ns > made for source in sources if source.exists()) or not whole(folder)


def whole(folder: RunFolder) -> bool:
    """Whether every table is, byte for byte, the one that this analysis wrote, of the records that there are."""
    try:
        noted = read_json(folder.tables / MANIFEST)
        made = (noted.pop(MADE_BY, ""), noted.pop(MADE_OF, ""))
        noted.pop(SAMPLES, None)  # tables stand for themselves: samples are looked at where tables are made of them
        return made == (analysis_digest(), sources(folder)) and noted == checksums(folder.tables)
    except (DataError, OSError):
        return False
