# SPDX-License-Identifier: BSD-3-Clause
"""What a run's report says of its links, whatever kernel it measured: the most loaded ones, and what holds it back."""

from dataclasses import asdict
from typing import Any

from weft.analyse.bottleneck import HOSTS, Bottleneck, Load, bottlenecks, loads, sentence
from weft.report.numbers import plural
from weft.report.view import Row, RunView
from weft.store.tables import read_table
from weft.tabular import Table
from weft.units import format_bytes, format_rate

MOST = 8


def counted(view: RunView) -> list[Row]:
    """Rows of the table of links; none for a run of an earlier Weft, which made no such table."""
    if not (view.path / "tables" / "links.parquet").is_file():
        return []
    return read_table(view.path, "links").to_pylist()


def held_back(view: RunView) -> list[Bottleneck]:
    """What holds the main call back at each shape; nothing where no link was counted."""
    links = counted(view)
    return bottlenecks(view.rows, links, view.main_call) if links else []


def held_back_sentence(view: RunView) -> str:
    """The same in one sentence, for the headline; empty where no link was counted."""
    return sentence(held_back(view))


def drawn_cells(view: RunView) -> list[tuple[int, int, str, list[Load]]]:
    """Nodes, ranks, name and loads of one cell (or batch) for each number of nodes above one: what moved most."""
    rows = counted(view)
    floors = {cell.id for cell in view.plan.floors}
    shapes = {row["cell"]: (row["nodes"], row["ranks"]) for row in rows if row["cell"] not in floors}
    best: dict[int, tuple[float, int, str, list[Load]]] = {}
    for name, found in loads(rows).items():
        nodes, ranks = shapes.get(name, (1, 1))
        moved = sum(load.bytes for load in found)
        if nodes > 1 and moved > best.get(nodes, (-1.0,))[0]:
            best[nodes] = (moved, ranks, name, found)
    return [(nodes, ranks, name, found) for nodes, (_, ranks, name, found) in sorted(best.items())]


def load_tables(view: RunView) -> list[Table]:
    """The most loaded links of each number of nodes."""
    return [_load_table(view, *each) for each in drawn_cells(view)]


def held_back_table(view: RunView) -> Table | None:
    """What holds each shape back; None where no link was counted."""
    rows = [
        (
            f"{each.nodes:,}",
            f"{each.ranks:,}",
            (HOSTS if each.name == "injection" else each.name) or "no link",
            _load_text(each.busiest),
            _load_text(each.other),
            f"{each.bound_ratio:.3g} x {each.bound}" if each.bound_ratio else "–",
        )
        for each in held_back(view)
    ]
    if not rows:
        return None
    columns = ("N", "p", "held back by", "busiest link", "busiest of the others", "time over its bound")
    units = ("nodes", "processes", "", "share of its rate", "share of its rate", "")
    return Table(view.titled("What holds it back"), columns, (units, *rows), frozenset({2, 3, 4, 5}))


def _load_text(load: Load | None) -> str:
    return "–" if load is None or load.share is None else f"{load.link} {percent(load.share)}"


def _load_table(view: RunView, nodes: int, ranks: int, cell: str, found: list[Load]) -> Table:
    columns = ("link", "cable", "carried", "of what it can", "its rate", "dropped")
    units = ("", "", "bytes a launch", "while it ran", "each way", "packets")
    # what crosses an idle link (a question who somebody is) would only fill the table
    shown = [load for load in found[:MOST] if load.bytes > found[0].bytes / 100]
    rows = tuple(
        (
            load.link,
            load.cable,
            format_bytes(round(load.bytes)),
            percent(load.share) if load.share is not None else "–",
            format_rate(load.rate) if load.rate else "–",
            f"{load.drops:,}",
        )
        for load in shown
    )
    less = f", the {len(shown)} busiest of {len(found)}" if len(found) > len(shown) else ""
    title = f"Load of the links at N = {nodes}, p = {ranks} ({cell}{less})"
    return Table(view.titled(title), columns, (units, *rows), frozenset({0, 1}))


def percent(share: float) -> str:
    """``85 %``."""
    return f"{100 * share:.0f} %"


def reading(view: RunView) -> str:
    """What the drawing of the links says, in one sentence."""
    cells = drawn_cells(view)
    if not cells:
        return ""
    nodes, _, _, found = cells[-1]
    busiest = found[0]
    other = next((load for load in found if load.host_link != busiest.host_link), None)
    text = f"At N = {nodes} the busiest link is {busiest.link}: {format_bytes(round(busiest.bytes))} a launch"
    if busiest.share is not None:
        text += f", {percent(busiest.share)} of what it can carry while the calls run"
        if other is not None and other.share is not None:
            text += f"; {HOSTS if other.host_link else 'the links between switches'} at most {percent(other.share)}"
    dropped = sum(load.drops for load in found)
    return text + (f". {plural(dropped, 'packet')} found a queue full." if dropped else ".")


def link_fields(view: RunView) -> dict[str, Any]:
    """``bottlenecks`` and ``links`` of ``weft show --format json``; absent where no link was counted."""
    rows = counted(view)
    if not rows:
        return {}
    told = [asdict(each) for each in held_back(view)]
    return {"bottlenecks": told, "links": rows}
