# SPDX-License-Identifier: BSD-3-Clause
"""A trace in the JSON of Chrome's trace events, which Perfetto reads: a process a rank, a track a thread."""

import io
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

from weft.errors import DataError
from weft.files.atomic import file_errors, own_file
from weft.files.beneath import plain_file
from weft.store.trace.convert import event_files
from weft.store.trace.folder import SITES, TRACE_RANKS, TraceFolder
from weft.store.trace.layout import FINISH, Flag

AT_ONCE = 1 << 16


def write_perfetto(folder: TraceFolder, path: Path) -> int:
    """Write all calls but summaries as trace events in us since the first; how many. DataError."""
    sites = {row["site"]: row["text"] for row in SITES.read(folder.path)}
    rows = TRACE_RANKS.read(folder.path)
    if not rows:
        raise DataError(f"{folder.path} has no rank", "weft trace -o RUN -- mpirun -n 4 ./application makes a trace")
    first = min((row["begin_ns"] for row in rows if row["events"]), default=0)
    part = path.with_name(path.name + ".part")
    with file_errors(path):
        with own_file(part) as raw:
            out = io.TextIOWrapper(raw, encoding="utf-8")
            out.write('{"displayTimeUnit": "ns", "traceEvents": [\n')
            named = ((row["rank"], {"name": f"rank {row['rank']} on {row['host']}"}) for row in rows)
            names = ({"ph": "M", "name": "process_name", "pid": rank, "args": name} for rank, name in named)
            out.write(",\n".join(map(json.dumps, names)))
            count = 0
            for event in _events(folder, first, sites):
                out.write(",\n" + json.dumps(event))
                count += 1
            out.write("\n]}\n")
            out.flush()
        part.replace(path)
    return count


def _events(folder: TraceFolder, first_ns: int, sites: dict[int, str]) -> Iterator[dict[str, Any]]:
    for path in event_files(folder):
        for batch in pq.ParquetFile(plain_file(path)).iter_batches(AT_ONCE):
            for row in batch.to_pylist():
                if row["call"] == FINISH or row["flags"] & Flag.SUMMARY:
                    continue
                fields = {key: row[key] for key in ("bytes", "received", "peer", "tag", "comm", "request")}
                yield {
                    "ph": "X", "name": row["call"], "cat": "MPI", "pid": row["rank"], "tid": row["thread"],
                    "ts": (row["begin_ns"] - first_ns) / 1000, "dur": (row["end_ns"] - row["begin_ns"]) / 1000,
                    "args": {**fields, "site": sites.get(row["site"], "")},
                }  # fmt: skip
