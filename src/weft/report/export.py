# SPDX-License-Identifier: BSD-3-Clause
"""A run in formats of other tools: the OSU benchmarks' columns, ReFrame's performance log, OpenMetrics text."""

from collections.abc import Callable, Iterator
from typing import Literal

from weft.analyse.tables.times import TimedRow, timed
from weft.kernel.sizes import split_op
from weft.report.view import RunView
from weft.text import one_line

Format = Literal["osu", "reframe", "openmetrics"]
OSU_COLUMNS = ("Size", "Avg Latency(us)", "Min Latency(us)", "Max Latency(us)", "Iterations")
REFRAME_COLUMNS = (
    "job_completion_time", "version", "display_name", "system", "partition", "environ", "jobid", "result",
    "median_value", "median_unit", "median_ref", "median_lower_thres", "median_upper_thres",
)  # fmt: skip
METRICS: dict[str, tuple[str, str, Callable[[TimedRow], float | None]]] = {
    "weft_time_seconds": ("seconds", "Median of the launches' medians.", lambda row: row["median_s"]),
    "weft_time_low_seconds": ("seconds", "Lower end of its interval.", lambda row: row["low_s"]),
    "weft_time_high_seconds": ("seconds", "Upper end of its interval.", lambda row: row["high_s"]),
    "weft_bound_seconds": ("seconds", "Lower bound of the time.", lambda row: row["bound_s"]),
    "weft_samples": ("", "Samples of all launches.", lambda row: float(row["samples"])),
    "weft_launches": ("", "Launches that measured it.", lambda row: float(row["launches"])),
}
"""Unit, help and value of each gauge."""


def export(view: RunView, format: Format) -> str:
    """The rows of a run that have times, in a format of another tool."""
    return {"osu": as_osu, "reframe": as_reframe, "openmetrics": as_openmetrics}[format](view)


def as_osu(view: RunView) -> str:
    """A block for each call, phase and shape, as ``osu_alltoall -f`` prints one: means, as there, in microseconds.

    Where a call has no size in its name, the size is that of a block.
    """
    blocks: dict[str, list[tuple[int, TimedRow]]] = {}
    for row in timed(view.rows):
        name, size = split_op(row["call"])
        shape = f"{name} {row['phase']}, {row['nodes']} nodes, {row['ranks']} ranks"
        shape += f", m = {row['m']}" if row["m"] is not None else ""
        blocks.setdefault(f"{shape}, {', '.join(row['series'])}", []).append((size or row["block_bytes"], row))
    return "\n".join(_osu_block(f"{view.plan.study} on {view.plan.fabric}: {head}", blocks[head]) for head in blocks)


def _osu_block(head: str, rows: list[tuple[int, TimedRow]]) -> str:
    lines = [f"# Weft {one_line(head)}", "# " + "".join(f"{name:<20}" for name in OSU_COLUMNS).rstrip()]
    for size, row in sorted(rows, key=lambda each: each[0]):
        times = (f"{1e6 * row[key]:<20.2f}" for key in ("mean_s", "min_s", "max_s"))
        lines.append(f"{size:<22}{''.join(times)}{row['samples']}")
    return "\n".join(lines) + "\n"


def as_reframe(view: RunView) -> str:
    """A performance log with the median of each row in seconds; the lower bound is no reference, so there is none."""
    lines = ["|".join(REFRAME_COLUMNS)]
    for row in timed(view.rows):
        words = [f"weft_{view.plan.study}", *(f"%{key}={value}" for key, value in labels(view, row) if key != "study")]
        name = " ".join(field_text(word) for word in words)
        facts = (view.meta.get("created", ""), f"weft {view.meta.get('weft', '')}", name, view.plan.fabric)
        tail = (view.plan.fabric_kind, view.mpi, "null", "pass")
        value = (f"{row['median_s']:.9g}", "s", "0", "null", "null")
        lines.append("|".join(field_text(str(each)) for each in (*facts, *tail)) + "|" + "|".join(value))
    return "\n".join(lines) + "\n"


def field_text(text: str) -> str:
    """A text without the log's separator."""
    return one_line(text).replace("|", "/")


def as_openmetrics(view: RunView) -> str:
    """Gauges of each row, as version 1.0 of OpenMetrics has them."""
    rows = timed(view.rows)
    lines: list[str] = []
    for name, (unit, words, value) in METRICS.items():
        lines.append(f"# TYPE {name} gauge")
        lines += [f"# UNIT {name} {unit}"] if unit else []
        lines.append(f"# HELP {name} {words}")
        for row in rows:
            number = value(row)
            if number is not None:
                pairs = ",".join(f'{key}="{escaped(text)}"' for key, text in labels(view, row))
                lines.append(f"{name}{{{pairs}}} {number:.9g}")
    return "\n".join([*lines, "# EOF"]) + "\n"


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
