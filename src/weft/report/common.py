# SPDX-License-Identifier: BSD-3-Clause
"""Tables that every run has: its most loaded links, and what a simulated verdict depends on."""

from collections.abc import Iterable, Sequence
from itertools import groupby
from typing import Any

from weft.analyse.tables.breakdown import BOTTLENECKS, HOSTS, LINKS, LOADS, SENSITIVITY, Load, LoadRow, SensitivityRow
from weft.analyse.tables.times import STARTUP, StartupRow
from weft.format import format_bytes, format_factor, format_rate, format_seconds, percent, plural, seconds_text
from weft.report.tabular import Table, Words, existing, make_table
from weft.report.view import RunView
from weft.words.answers import number_text


def common_tables(view: RunView) -> list[Table]:
    """Tables of every run, whatever its kernel: the most loaded links, and what a simulated verdict depends on."""
    title = view.titled("What the verdict depends on: each fitted or assumed number over its plausible range")
    return [
        *(_load_table(view, *each) for each in drawn_cells(view)),
        *existing(startup_table(view.titled("Start-up"), STARTUP.read(view.path))),
        *existing(sensitivity_table(SENSITIVITY.read(view.path), title)),
    ]


def startup_table(title: str, rows: Sequence[StartupRow]) -> Table:
    """Seconds of MPI_Init and of the first all-to-all by number of ranks; empty if no launch recorded them."""
    return make_table(
        title, rows,
        ("N", "nodes", lambda row: f"{row['nodes']:,}"), ("p", "processes", lambda row: f"{row['ranks']:,}"),
        ("launches", "", lambda row: f"{row['launches']:,}"),
        ("MPI_Init", "slowest rank", lambda row: seconds_text(row["init_s"], row["init_low_s"], row["init_high_s"])),
        (Words("first all-to-all"), "on fresh connections", _first_text),
        (Words("waits"), "component that only sleeps", lambda row: row["waits"] or "–"),
    )  # fmt: skip


def _first_text(row: StartupRow) -> str:
    if not row["first_s"]:
        return "–"
    return f"{seconds_text(row['first_s'], row['first_low_s'], row['first_high_s'])} {row['call']}"


MOST = 8


def drawn_cells(view: RunView) -> list[tuple[int, int, str, list[LoadRow]]]:
    """Nodes, ranks, name and loads of a cell a number of nodes above one: of the stated bottleneck, or most loaded."""
    floors = {cell.id for cell in view.plan.floors}
    stated = {row["cell"] for row in {each["nodes"]: each for each in BOTTLENECKS.read(view.path)}.values()}
    cells = [list(group) for _, group in groupby(LOADS.read(view.path), key=lambda load: load["cell"])]
    cells = [found for found in cells if found[0]["nodes"] > 1 and found[0]["cell"] not in floors]
    best: dict[int, list[LoadRow]] = {}
    for found in sorted(cells, key=lambda each: (each[0]["cell"] in stated, each[0]["moved_bytes"]), reverse=True):
        best.setdefault(found[0]["nodes"], found)
    return [(nodes, found[0]["ranks"], found[0]["cell"], found) for nodes, found in sorted(best.items())]


def held_back_table(view: RunView) -> Table:
    """The bottleneck of each shape; empty if no link was counted."""
    return make_table(
        view.titled("Bottlenecks"), BOTTLENECKS.read(view.path),
        ("N", "nodes", lambda row: f"{row['nodes']:,}"), ("p", "processes", lambda row: f"{row['ranks']:,}"),
        (Words("bottleneck"), "", lambda row: (HOSTS if row["name"] == "injection" else row["name"]) or "no link"),
        (Words("busiest link"), "share of its rate", lambda row: _load_text(row["busiest"])),
        (Words("busiest of the others"), "share of its rate", lambda row: _load_text(row["other"])),
        (Words("time over its bound"), "",
         lambda row: f"{format_factor(row['bound_ratio'])} x {row['bound']}" if row["bound_ratio"] else "–"),
    )  # fmt: skip


def _load_text(load: Load | None) -> str:
    return "–" if load is None or load["share"] is None else f"{load['link']} {percent(load['share'])}"


def _load_table(view: RunView, nodes: int, ranks: int, cell: str, found: Sequence[Load]) -> Table:
    # the traffic of idle links (an ARP request) would only fill the table
    shown = [load for load in found[:MOST] if load["bytes"] > found[0]["bytes"] / 100]
    less = f", the {len(shown)} busiest of {len(found)}" if len(found) > len(shown) else ""
    return make_table(
        view.titled(f"Load of the links at N = {nodes}, p = {ranks} ({cell}{less})"), shown,
        (Words("link"), "", lambda load: load["link"]), (Words("cable"), "", lambda load: load["cable"]),
        ("carried", "bytes per launch", lambda load: format_bytes(round(load["bytes"]))),
        ("share of rate", "while calls ran", lambda load: "–" if load["share"] is None else percent(load["share"])),
        ("rate", "each way", lambda load: format_rate(load["rate"]) if load["rate"] else "–"),
        ("dropped", "packets", lambda load: f"{load['drops']:,}"),
    )  # fmt: skip


def reading(view: RunView) -> str:
    """The result of the drawing of the links in one sentence."""
    cells = drawn_cells(view)
    if not cells:
        return ""
    nodes, _, _, found = cells[-1]
    busiest = found[0]
    other = next((load for load in found if load["host_link"] != busiest["host_link"]), None)
    text = f"At N = {nodes} the busiest link is {busiest['link']}: {format_bytes(round(busiest['bytes']))} per launch"
    if busiest["share"] is not None:
        text += f", {percent(busiest['share'])} of its rate while the calls run"
        if other is not None and other["share"] is not None:
            others = HOSTS if other["host_link"] else "the links between switches"
            text += f"; {others} at most {percent(other['share'])}"
    dropped = sum(load["drops"] for load in found)
    return text + (f". {plural(dropped, 'packet')} dropped at full queues." if dropped else ".")


def link_fields(view: RunView) -> dict[str, Any]:
    """``bottlenecks`` and ``links`` of ``weft show --format json``; absent if no link was counted."""
    rows = LINKS.read(view.path)
    return {"bottlenecks": BOTTLENECKS.read(view.path), "links": rows} if rows else {}


def sensitivity_table(rows: Iterable[SensitivityRow], title: str) -> Table:
    """Each assumed or fitted number with what it does to the verdict and to the last time; empty without rows."""
    return make_table(
        title, rows,
        ("series", "", lambda row: row["series"]), ("number", "key", lambda row: row["key"]),
        ("value (plausible)", "from where",
         lambda row: f"{number_text(row['value'], row['unit'])} ({number_text(row['low'], row['unit'])} to "
         f"{number_text(row['high'], row['unit'])}), {row['standing']}"),
        (Words("verdict"), "and where it flips", lambda row: _flip_text(row) if row["flips"] else row["verdict"]),
        ("time at the last point", "as the number moves",
         lambda row: f"{format_seconds(row['seconds'])} ({format_seconds(row['least_s'])} to "
         f"{format_seconds(row['most_s'])}), N = {row['at']}, {row['basis']}"),
    )  # fmt: skip


def _flip_text(row: SensitivityRow) -> str:
    """Where a verdict becomes another one: ``FLIPS from 18 KiB on: still scales at N = 576``.

    Perhaps only where another number has another value, too: ``FLIPS with network.eager_overhead = 0 ns, from ...``.
    """
    given = ""
    if row["given_value"] is not None:
        given = f"with {row['given_key']} = {number_text(row['given_value'], row['given_unit'])}, "
    if row["flips_at"] is None:
        return f"FLIPS {given}"
    where = "on" if row["flips_at"] >= row["value"] else "down"
    return f"FLIPS {given}from {number_text(row['flips_at'], row['unit'])} {where}: {row['becomes']}"
