# SPDX-License-Identifier: BSD-3-Clause
"""A run as JSON and CSV, and in formats of other tools: the OSU benchmarks' columns, ReFrame's log, OpenMetrics, LaTeX.
JSON is of schema weft-show/1 (docs/dev/show-json.md): fields may be added within a version; none changes or goes.
"""

import json
import math
from collections.abc import Callable, Iterable, Iterator
from datetime import UTC, datetime
from hashlib import sha256
from typing import Any, Literal

from weft.analyse.tables.breakdown import BOTTLENECKS, LINKS, SENSITIVITY
from weft.analyse.tables.claims import extras
from weft.analyse.tables.times import TimedRow, holding_bound_s, timed
from weft.errors import DataError
from weft.files.reading import is_list, is_table
from weft.format import plural
from weft.kernel.registry import kernel_named
from weft.kernel.sizes import line_name, split_op
from weft.kernel.traffic import Uniform
from weft.report.card import card_of
from weft.report.tabular import Table, comma_separated
from weft.report.view import RunView
from weft.text import latex, one_line

Format = Literal["osu", "reframe", "openmetrics"]
OSU_COLUMNS = (("# Size", -10), ("Avg Latency(us)", 20), ("Min Latency(us)", 20), ("Max Latency(us)", 20),
               ("Iterations", 12))  # fmt: skip
"""Names and widths as the OSU benchmarks print them with ``-f`` (``osu_util_mpi.c``: the size to the left)."""
OSU_STREAM_COLUMNS = (("# Size", -10), ("Bandwidth (MB/s)", 20))  # the same of ``osu_bw``, which has no others
REFRAME_FIRST = ("result", "job_completion_time")
REFRAME_COLUMNS = (
    "descr", "env_vars", "environ", "exclusive_access", "extra_resources", "job_completion_time_unix", "job_exitcode",
    "job_nodelist", "job_submit_time", "jobid", "modules", "name", "num_cpus_per_task", "num_gpus_per_node",
    "num_tasks", "num_tasks_per_core", "num_tasks_per_node", "num_tasks_per_socket", "partition", "perfvalues",
    "short_name", "system", "unique_name", "use_multithreading",
)  # fmt: skip
"""What ReFrame 4.10 logs of a test by default after `REFRAME_FIRST`, by name; a test's parameters stand among them."""
REFRAME_VALUES = ("median_value", "median_unit", "median_ref", "median_lower_thres", "median_upper_thres")
"""What stands in place of ``perfvalues``."""
METRICS: dict[str, tuple[str, str, Callable[[TimedRow], float | None]]] = {
    "weft_time_seconds": ("seconds", "Median of the launches' medians.", lambda row: row["median_s"]),
    "weft_time_low_seconds": ("seconds", "Lower end of its interval.", lambda row: row["low_s"]),
    "weft_time_high_seconds": ("seconds", "Upper end of its interval.", lambda row: row["high_s"]),
    "weft_bound_seconds": ("seconds", "Lower bound of the time.", holding_bound_s),
    "weft_samples": ("", "Samples of all launches.", lambda row: float(row["samples"])),
    "weft_launches": ("", "Launches that measured it.", lambda row: float(row["launches"])),
}
"""Unit, help and value of each gauge."""
SCHEMA = "weft-show/1"
FIELDS = (
    "cell", "kernel", "series", "nodes", "ranks_per_node", "ranks", "n", "m", "call", "phase", "status", "reason",
    "median_s", "low_s", "high_s", "coverage", "min_s", "p5_s", "p95_s", "p99_s", "max_s", "mean_s", "samples",
    "discarded", "disturbed", "lost_s", "lost_by", "launches", "launch_low_s", "launch_high_s", "interval", "batch",
    "definition", "ended_by", "algorithm", "bound_s", "bound", "block_bytes", "local_bytes", "array_bytes",
    "oversubscribed",
)  # fmt: skip


def export(view: RunView, format: Format) -> str:
    """The rows of a run that have times, for another tool. Raises DataError: no call has a time, as with pairs."""
    if not timed(view.rows):
        none = f"{view.path}: no call of this run has a time that {format} could hold"
        raise DataError(none, "the formats csv and json have all that it found")
    return {"osu": as_osu, "reframe": as_reframe, "openmetrics": as_openmetrics}[format](view)


def as_osu(view: RunView) -> str:
    """A block for each call and shape as its OSU program prints one: means of all samples, as there.
    Calls have the columns of ``osu_alltoall -f`` in microseconds, streams those of ``osu_bw``: bytes over time in units
    of 10^6 B/s. The size is that of a message or block, and no block has one twice. Blocks of first calls, which OSU
    leaves out, follow the others: a reader that takes a size's first line takes a warm one.
    """
    cells = {cell.id: cell for cell in view.plan.cells}
    blocks: dict[tuple[bool, str], list[tuple[int, TimedRow]]] = {}
    for row in timed(view.rows):
        cell = cells[row["cell"]]
        name, size = split_op(row["call"])
        traffic = kernel_named(cell.kernel).traffic(cell.parameters, cell.ranks).get(row["call"])
        own = size if size is not None else traffic.block_bytes if isinstance(traffic, Uniform) else row["block_bytes"]
        first = row["phase"] == "cold"
        head = f"{line_name(name, cell.parameters)}, {'first call' if first else 'steady'}, "
        head += f"{plural(row['nodes'], 'node')}, {plural(row['ranks'], 'rank')}"
        head += f", n = {row['n']}" if row["n"] is not None and own != row["block_bytes"] else ""
        head += f", m = {row['m']}" if row["m"] is not None else ""
        head = f"{head}, {', '.join(row['series'])}"
        known = blocks.get((first, head), [])
        if any(own == other for other, _ in known) or (size is not None and known and known[0][1]["cell"] != cell.id):
            head = f"{head}, {cell.id}"
        blocks.setdefault((first, head), []).append((own, row))
    title = f"{view.plan.study} on {view.plan.fabric}"
    ordered = sorted(blocks.items(), key=lambda block: block[0][0])
    return "\n".join(_osu_block(f"{title}: {head}", rows, view.story.streams) for (_, head), rows in ordered)


def _osu_block(head: str, rows: list[tuple[int, TimedRow]], streams: bool) -> str:
    columns = OSU_STREAM_COLUMNS if streams else OSU_COLUMNS
    names = (f"{name:>{width}}" if width > 0 else f"{name:<{-width}}" for name, width in columns)
    lines = [f"# Weft {one_line(head)}", "".join(names)]
    for size, row in sorted(rows, key=lambda each: each[0]):
        times = "".join(f"{1e6 * row[key]:20.2f}" for key in ("mean_s", "min_s", "max_s"))
        values = f"{size / 1e6 / row['mean_s']:20.2f}" if streams else f"{times}{row['samples']:12}"
        lines.append(f"{size:<10}{values}")
    return "\n".join(lines) + "\n"


def as_reframe(view: RunView) -> str:
    """A log with the columns of ReFrame's default ``handlers_perflog``: medians in s; a lower bound is no reference."""
    rows = [(row, dict(labels(view, row))) for row in timed(view.rows)]
    columns = sorted({*REFRAME_COLUMNS, *{key for _, own in rows for key in own} - {"study"}})
    names = [name for key in columns for name in (REFRAME_VALUES if key == "perfvalues" else (key,))]
    lines = ["|".join((*REFRAME_FIRST, *names))]
    for number, (row, own) in enumerate(rows):
        known = own | _reframe_fields(view, row, own, number)
        lines.append("|".join(("pass", _made(view)[0], *(known.get(key, "null") for key in columns))))
    return "\n".join(lines) + "\n"


def _reframe_fields(view: RunView, row: TimedRow, own: dict[str, str], number: int) -> dict[str, str]:
    """The columns of a row that Weft can fill, by name; the values stand under ``perfvalues``, already joined."""
    test = f"weft_{view.plan.study}"
    name = field_text(" ".join([test, *(f"%{key}={value}" for key, value in own.items() if key != "study")]))
    texts = own | {
        "descr": f"median of {row['call']}, weft {view.meta.get('weft', '')}", "env_vars": "{}", "environ": view.mpi,
        "extra_resources": "{}", "job_completion_time_unix": _made(view)[1], "modules": "", "name": name,
        "num_tasks": str(row["ranks"]), "num_tasks_per_node": str(row["ranks_per_node"]),
        "partition": view.plan.fabric_kind, "short_name": f"{test}_{sha256(name.encode()).hexdigest()[:8]}",
        "system": view.plan.fabric, "unique_name": f"{test}_{number}",
    }  # fmt: skip
    values = {"perfvalues": f"{row['median_s']:.9g}|s|0|None|None"}
    return {key: field_text(text) for key, text in texts.items()} | values


def _made(view: RunView) -> tuple[str, str]:
    """When the run was made as ReFrame writes it (``%FT%T``), and in seconds since 1970; ``null`` if not known."""
    try:
        made = datetime.fromisoformat(str(view.meta.get("created", "")))
    except ValueError:
        return "null", "null"
    made = made.replace(tzinfo=made.tzinfo or UTC)
    return f"{made:%Y-%m-%dT%H:%M:%S}", f"{made.timestamp():.1f}"


def field_text(text: str) -> str:
    """A text without the log's separator."""
    return one_line(text).replace("|", "/")


def as_openmetrics(view: RunView) -> str:
    """Gauges of each row, as version 1.0 of OpenMetrics has them."""
    own = [(",".join(f'{key}="{escaped(text)}"' for key, text in labels(view, row)), row) for row in timed(view.rows)]
    lines: list[str] = []
    for name, (unit, words, value) in METRICS.items():
        lines += gauge(name, unit, words, ((pairs, value(row)) for pairs, row in own))
    return "\n".join([*lines, "# EOF"]) + "\n"


def gauge(name: str, unit: str, words: str, samples: Iterable[tuple[str, float | None]]) -> list[str]:
    """Lines of a gauge in OpenMetrics; a sample is its labels and its value, and left out where it has none."""
    head = [f"# TYPE {name} gauge", *([f"# UNIT {name} {unit}"] if unit else []), f"# HELP {name} {words}"]
    return [*head, *(f"{name}{{{pairs}}} {value:.9g}" for pairs, value in samples if value is not None)]


def escaped(text: str) -> str:
    """A text between the quotes of a label."""
    return one_line(text).replace("\\", "\\\\").replace('"', '\\"')


def labels(view: RunView, row: TimedRow) -> Iterator[tuple[str, str]]:
    """What tells a row from the others of a run, and its run from other runs."""
    name, size = split_op(row["call"])
    yield from (("study", view.plan.study), ("fabric", view.plan.fabric), ("cell", row["cell"]), ("call", name))
    if size is not None:
        yield "bytes", str(size)
    yield from ((key, str(row[key])) for key in ("phase", "nodes", "ranks", "n", "m") if row[key] is not None)


def latex_table(table: Table) -> str:
    """One table as a float with its title as caption."""
    columns = "".join("l" if index in table.words else "r" for index in range(len(table.columns)))

    def line(cells: tuple[str, ...]) -> str:
        return " & ".join(latex(cell.strip()) for cell in cells) + r" \\"

    head = [r"\begin{table}", rf"\caption{{{latex(table.title)}.}}", r"\centering", rf"\begin{{tabular}}{{{columns}}}"]
    body = [r"\hline", line(table.columns), line(table.rows[0]), r"\hline", *map(line, table.rows[1:]), r"\hline"]
    return "\n".join([*head, *body, r"\end{tabular}", r"\end{table}"])


def as_latex(view: RunView, tables: Iterable[Table], meaning: str) -> str:
    """Tables of a run, with the verdict and what the numbers mean as comments."""
    remarks = [f"% {one_line(text)}" for text in (view.titled(view.name), view.headline, meaning)]
    return "\n".join(remarks) + "\n\n" + "\n\n".join(latex_table(table) for table in tables) + "\n"


def show_object(view: RunView) -> dict[str, Any]:
    """The printed object as plain data."""
    plan, links = view.plan, LINKS.read(view.path)
    head = {"schema": SCHEMA, "run": str(view.path), "study": plan.study, "title": plan.title, "fabric": plan.fabric}
    head |= {"kind": plan.fabric_kind, "mpi": view.mpi, "simulated": plan.is_model}
    ends = {"start": "from", "end": "to"}
    return head | {
        "virtual": plan.planned_fabric.is_emulated,
        "headline": view.headline,
        "card": [row._asdict() for row in card_of(view).rows],
        "claims": [{**claim, "more": extras(claim)} for claim in view.claims],
        "quality": {"grade": view.grade, "doubts": view.quality},
        "rows": [{name: row[name] for name in FIELDS} for row in view.rows],
        "verdicts": [{ends.get(key, key): value for key, value in row.items()} for row in view.verdicts],
        "sensitivity": SENSITIVITY.read(view.path),
        "floor": view.floor,
        "findings": view.findings,
        **({"bottlenecks": BOTTLENECKS.read(view.path), "links": links} if links else {}),
        **view.story.fields(view),
    }


def as_json(view: RunView) -> str:
    """The object as text; a number that JSON cannot represent becomes null (and an error among the findings)."""
    return json.dumps(_finite(show_object(view)), indent=1, allow_nan=False, ensure_ascii=False) + "\n"


def _finite(value: Any) -> Any:
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if is_table(value):
        return {key: _finite(item) for key, item in value.items()}
    return [_finite(item) for item in value] if is_list(value) else value


def as_csv(view: RunView) -> str:
    """One line per cell, call and phase, in seconds and bytes, unrounded: the fields of the JSON's rows."""
    rows = ([row[name] for name in FIELDS] for row in view.rows)
    return comma_separated(FIELDS, [[" ".join(each) if is_list(each) else each for each in row] for row in rows])
