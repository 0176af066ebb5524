# SPDX-License-Identifier: BSD-3-Clause
"""Small or strange files of strangers that would fill the memory: refused by their heads and the plan, or made anew."""

import json
import shutil
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from made.kept import copy_of
from made.traces import MadeRank
from weft.analyse.tables.answers import FINDINGS
from weft.analyse.tables.manifest import MANIFEST
from weft.analyse.tables.traces import CALL_TIMES, has_trace_tables
from weft.analyse.trace.make import make_trace_tables
from weft.errors import WeftError
from weft.files.atomic import NAME, file_checksum, read_json, write_json
from weft.mpi.alltoall import read_selection
from weft.plan.stored import HASH, MOST_STORED, hash_of
from weft.report.tables import render
from weft.report.traces import as_json, load_trace
from weft.report.view import load_view
from weft.run.refresh import reading, refresh, write_manifest
from weft.store.folder import RunFolder
from weft.store.tables import read_table
from weft.store.trace.folder import SITES, TraceFolder, stamp_of_raw, write_stamp
from weft.trace.events import reading_trace
from weft.trace.take import bring_in, describe_trace

MOST_S, MOST_MORE = 20, 1 << 30


def repeated(names: list[str], rows: int, value: str = "note") -> Any:
    """One row, so many times, in a file of a few kilobytes."""
    column = pa.DictionaryArray.from_arrays(pa.array(np.zeros(rows, np.int8)), pa.array([value]))
    return pa.table(dict.fromkeys(names, column))


def many_rows(folder: RunFolder) -> None:
    table = repeated(FINDINGS.schema.names, 4_200_000)
    pq.write_table(table, FINDINGS.path(folder.path), compression="zstd", row_group_size=4_200_000)


def some_rows(folder: RunFolder) -> None:
    """Fewer than would fill the memory, but more than a run of so few samples has."""
    pq.write_table(repeated(FINDINGS.schema.names, 1_000_000), FINDINGS.path(folder.path), compression="zstd")


def long_texts(folder: RunFolder) -> None:
    """Half a gigabyte of text that packs well."""
    table = pa.table({name: ["x" * (1 << 20)] * 60 for name in FINDINGS.schema.names})
    pq.write_table(table, FINDINGS.path(folder.path), compression="zstd", use_dictionary=False)


def one_long_text(folder: RunFolder) -> None:
    """A text of a megabyte, once in the file and once in each of two thousand rows."""
    table = repeated(FINDINGS.schema.names, 2000, "x" * (1 << 20))
    pq.write_table(table, FINDINGS.path(folder.path), compression="zstd")


def large_table(folder: RunFolder) -> None:
    """Tens of megabytes on the disk, which may hold more than others by their size alone."""
    rng = np.random.default_rng(1)
    names = [str(number) for number in rng.integers(10**15, 10**16, 300_000)]
    table = pa.table(dict.fromkeys(FINDINGS.schema.names, names))
    pq.write_table(table, FINDINGS.path(folder.path), use_dictionary=False)


def one_long_text_in_a_table_for_arrow(folder: RunFolder) -> None:
    """The same, in a table that is not read as rows of Python."""
    table = repeated(["what"], 2000, "x" * (1 << 20))
    pq.write_table(table, folder.tables / "strange.parquet", compression="zstd")


def many_samples(folder: RunFolder) -> None:
    """Rows of samples of which no cell knows, in a file that says what it was made of."""
    path = min(folder.samples.glob("*.parquet"))
    rows = pa.array(np.zeros(4_000_000, np.int32))
    pq.write_table(pq.read_table(path).take(rows), path, compression="zstd")
    (folder.tables / "medians.parquet").unlink()


def write(path: Path, content: Any) -> None:
    """Write JSON in which each text LISTS is a list of as many empty lists as 48 MiB hold."""
    path.write_text(json.dumps(content).replace('"LISTS"', "[" + "[]," * (1 << 24) + "[]]"))


def record_of(folder: RunFolder, **more: Any) -> Path:
    """A cell's record with other entries and no checksum, as one of an earlier kernel."""
    record = folder.cells / "c000.l1.json"
    found = json.loads(record.read_text()) | more
    found.pop(NAME, None)
    write(record, found)
    return record


def samples_of(folder: RunFolder, size: int) -> None:
    """A file of 4 KiB on the disk that has so many bytes, with a record that says so."""
    found = json.loads((folder.cells / "c000.l1.json").read_text())
    ranks, samples = found["ranks"], size // (24 * found["ranks"])
    found["segments"][-1]["count"] += samples - sum(each["count"] for each in found["segments"])
    path = record_of(folder, shape=[ranks, samples, 3], segments=found["segments"]).with_suffix(".npy")
    with path.open("wb") as file:
        head = {"descr": "<i8", "fortran_order": False, "shape": (ranks, samples, 3)}
        np.lib.format.write_array_header_1_0(file, head)
        file.truncate(file.tell() + 24 * ranks * samples)


def sparse_samples(folder: RunFolder) -> None:
    samples_of(folder, 6 << 30)


def more_samples_than_planned(folder: RunFolder) -> None:
    samples_of(folder, 60 << 20)


def many_segments(folder: RunFolder) -> None:
    segment = {"op": "a", "phase": "cold", "first": 0, "count": 0}
    record_of(folder, segments=[segment] * 1_200_000)


def lists_in_a_cell(folder: RunFolder) -> None:
    record_of(folder, memory={"a": "LISTS"})


def lists_in_a_launch(folder: RunFolder) -> None:
    path = folder.launches / "c000.l1.json"
    write(path, {key: value for key, value in read_json(path).items() if key != NAME} | {"more": "LISTS"})


def many_links(folder: RunFolder) -> None:
    row = {"link": "a", "from": "b", "to": "c", "rate": 1, "bytes": 1, "packets": 1, "drops": 0}
    text = json.dumps({"schema": "weft-links/1", "launch": "c000.l1", "method": "tc", "links": [row] * 700_000})
    (folder.launches / "c000.l1.links.json").write_text(text)


def many_looks(folder: RunFolder) -> None:
    look = {"when": "", "busy": 1, "cores": 1}
    folder.load.write_text(json.dumps({"schema": "weft-load/1", "looks": [look] * 1_500_000}))


def long_manifest(folder: RunFolder) -> None:
    write(folder.tables / "tables.json", {"a": "LISTS"})


def deep_folders(folder: RunFolder) -> None:
    place = folder.cells
    for _ in range(1200):
        place /= "deep"
        if len(str(place)) < 4000:
            place.mkdir()


def much_meta(folder: RunFolder) -> None:
    with folder.meta.open("r+b") as file:
        file.seek(400_000_000)
        file.write(b" ")


def plan_with(folder: RunFolder, plan: dict[str, Any]) -> None:
    write(folder.plan, plan)
    meta = json.loads(folder.meta.read_text())
    folder.meta.write_text(json.dumps(meta | {HASH: hash_of(folder.plan.read_bytes())}))


def many_cells(folder: RunFolder) -> None:
    plan = json.loads(folder.plan.read_text())
    first = plan["cells"][0]
    plan["cells"] += [first | {"id": f"c{number:05d}"} for number in range(10_000, 10_000 + 9 * MOST_STORED)]
    plan_with(folder, plan)


def many_launches(folder: RunFolder) -> None:
    plan = json.loads(folder.plan.read_text())
    first = plan["launches"][0]
    plan["launches"] += [first | {"id": f"c{number:06d}.l1"} for number in range(100_000, 350_000)]
    plan_with(folder, plan)


def lists_in_a_plan(folder: RunFolder) -> None:
    plan = json.loads(folder.plan.read_text())
    plan["series"] = "LISTS"
    plan_with(folder, plan)


SIGNED = many_rows, some_rows, long_texts, one_long_text, one_long_text_in_a_table_for_arrow, large_table, many_samples
BOMBS = (
    *SIGNED, sparse_samples, more_samples_than_planned, many_segments, lists_in_a_cell, lists_in_a_launch, many_links,
    many_looks, long_manifest, deep_folders, much_meta, many_cells, many_launches, lists_in_a_plan,
)  # fmt: skip
SLOW = {
    *(long_texts, large_table, many_samples, many_segments, lists_in_a_launch, many_links, many_looks, many_launches),
    many_cells,
}
ANEW = {some_rows, many_rows, large_table, many_samples, long_manifest}
"""Of these the truth is in the cells: they are made again."""


class Peak:
    """Memory and processor time that a reader takes, whatever was read before, and beside it."""

    def __enter__(self) -> "Peak":
        Path("/proc/self/clear_refs").write_text("5")  # the peak begins anew
        self.before, self.began = self.resident("VmHWM"), time.process_time()
        return self

    def __exit__(self, *_: object) -> None:
        self.seconds, self.bytes = time.process_time() - self.began, self.resident("VmHWM") - self.before

    @staticmethod
    def resident(name: str) -> int:
        lines = Path("/proc/self/status").read_text().splitlines()
        return 1024 * int(next(line.split()[1] for line in lines if line.startswith(name)))


def read_by(read: Callable[[], str]) -> str:
    """What a reader says, nothing if it refuses; AssertionError if that takes too long, or too much memory."""
    found = ""
    with Peak() as used, suppress(WeftError):
        found = read()
    assert used.seconds < MOST_S
    assert used.bytes < MOST_MORE
    return found


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A kept run and its tables."""
    return refresh(copy_of("exchange", tmp_path_factory.mktemp("bombs"))).path


def shown(path: Path) -> str:
    """What `weft show --format json` prints."""
    with reading(path):
        if (path / "tables" / "strange.parquet").exists():
            read_table(path, "strange")
        return render(load_view(refresh(path)), "json")


@pytest.mark.parametrize(
    "bomb", [pytest.param(each, marks=pytest.mark.long) if each in SLOW else each for each in BOMBS]
)
def test_a_bomb_in_a_run_is_refused_soon_and_in_little_memory(
    bomb: Callable[[RunFolder], None], run: Path, tmp_path: Path
) -> None:
    folder = RunFolder(Path(shutil.copytree(run, tmp_path / "run")))
    expected = shown(folder.path)
    bomb(folder)
    if bomb in SIGNED:
        write_manifest(folder)
    found = read_by(lambda: shown(folder.path))
    assert found == (expected if bomb in ANEW else "")


def sparse_rank(folder: TraceFolder) -> None:
    """A rank that seems to have recorded for days."""
    with (folder.raw / "rank-0000001.trace").open("r+b") as file:
        file.truncate(1 << 40)


def many_events(folder: TraceFolder) -> None:
    path = min(folder.events.glob("*.parquet"))
    pq.write_table(pq.read_table(path).take(pa.array(np.zeros(4_000_000, np.int32))), path, compression="zstd")


def many_calls(folder: TraceFolder) -> None:
    pq.write_table(repeated(CALL_TIMES.schema.names, 4_200_000), CALL_TIMES.path(folder.path), compression="zstd")


def many_sites(folder: TraceFolder) -> None:
    table = pa.table({"site": np.zeros(4_200_000, np.int32), "text": repeated(["text"], 4_200_000)["text"]})
    pq.write_table(table, SITES.path(folder.path), compression="zstd")


def lists_of_a_trace(folder: TraceFolder) -> None:
    write(folder.meta, {"schema": "weft-trace/1", "a": "LISTS"})


OF_TRACES = sparse_rank, many_events, many_calls, many_sites, lists_of_a_trace


@pytest.mark.parametrize(
    "bomb", [pytest.param(each, marks=pytest.mark.long) if each is many_events else each for each in OF_TRACES]
)
def test_a_bomb_in_a_trace_is_refused_soon_and_in_little_memory(
    bomb: Callable[[TraceFolder], None], tmp_path: Path
) -> None:
    folder = TraceFolder(tmp_path / "trace")
    for rank in range(2):
        MadeRank(rank, 2).call("MPI_Send", 0, 1000, peer=1 - rank, bytes=64).write(folder.raw)
    folder.describe(command="mpirun")
    shown_trace(folder.path)
    bomb(folder)
    if bomb in (many_events, many_sites):
        write_stamp(folder, stamp_of_raw(folder))
    if bomb in (many_events, many_sites):
        (folder.tables / MANIFEST).unlink()
    if bomb is many_calls:
        noted = read_json(folder.tables / MANIFEST)
        noted |= {path.name: file_checksum(path) for path in folder.tables.iterdir() if path.name in noted}
        write_json(folder.tables / MANIFEST, noted)
    read = read_by(lambda: shown_trace(folder.path))
    assert bool(read) == (bomb is many_events)  # nothing says how many calls a program makes


def shown_trace(path: Path) -> str:
    """What `weft trace show` reads."""
    folder = TraceFolder.open(path)
    with reading_trace(path):
        bring_in(folder)
        if not has_trace_tables(folder):
            make_trace_tables(folder)
        return as_json(load_trace(folder)) + str(describe_trace(folder))


@pytest.mark.parametrize("rules", ["LISTS", "many"])
def test_a_bomb_in_a_table_of_tune_is_refused_soon_and_in_little_memory(rules: str, tmp_path: Path) -> None:
    path = tmp_path / "tuning.json"
    rule = {"op": "*", "algorithm": "pmpi"}
    write(path, {"schema": "weft-tuning/1", "rules": [rule] * 1_500_000 if rules == "many" else rules})
    assert read_by(lambda: repr(read_selection(path))) == ""
