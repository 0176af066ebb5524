# SPDX-License-Identifier: BSD-3-Clause
"""What a short message takes, the pace of many, the rate of long ones, and whether ranks hold each other up."""

from collections.abc import Mapping

from weft.analyse.claims.make import Known
from weft.analyse.tables.claims import ClaimRow, make_claim
from weft.kernel.sizes import op_name, split_op
from weft.plan.records import Cell

SAME = 1.1  # all ranks at once take no more than so many times what one alone takes: they do not hold each other up


def find_claims(known: Known) -> list[ClaimRow]:
    """Latency between the most nodes, then pace and rate of the same cell, and what follows for an application."""
    trips = [row for row in known.warm if row["call"].startswith("trip") and split_op(row["call"])[1] is not None]
    row = max(trips, key=lambda row: row["nodes"], default=None)
    if row is None:
        return [make_claim("probe.untimed", "answer")]
    size = split_op(row["call"])[1] or 0
    cell = known.plan.cell(row["cell"])
    seconds = {each["call"]: each["median_s"] for each in known.warm if each["cell"] == row["cell"]}
    latency = make_claim(
        "probe.latency", "answer", "", row["median_s"], "seconds", (row["low_s"], row["high_s"]),
        coverage=row["coverage"], at=row, bytes=size, nodes=row["nodes"],
    )  # fmt: skip
    return [latency, *_pace(cell, seconds, size), *_rate(cell, seconds)]


def _pace(cell: Cell, seconds: Mapping[str, float], size: int) -> list[ClaimRow]:
    """The time of each of many short messages, by one rank and by all of a node."""
    count = int(cell.parameters["messages"]) * int(cell.parameters["more"])
    alone, together = (seconds.get(op_name(f"{who}-{count}", size)) for who in ("one", "all"))
    if not alone or not together:
        return []
    remedy = "fewer-messages" if together <= SAME * alone else "fewer-senders"
    return [
        make_claim("pace.alone", "breakdown", "", alone / count, "seconds", messages=count, cell=cell.id),
        make_claim("pace.together", "breakdown", "", together / alone, "factor", messages=count, cell=cell.id),
        make_claim(f"remedy.{remedy}", "remedy", next="weft tune --probe", cell=cell.id),
    ]


def _rate(cell: Cell, seconds: Mapping[str, float]) -> list[ClaimRow]:
    """Bytes a second that all senders of a node reach with the longest messages."""
    trains, size = int(cell.parameters["trains"]), int(cell.parameters["large"]) * int(cell.parameters["longer"])
    took = seconds.get(op_name(f"all-{trains}", size))
    rate = trains * (cell.ranks_per_node if cell.nodes > 1 else cell.ranks // 2) * size / took if took else 0.0
    return [make_claim("rate.long", "breakdown", "", rate, "rate", bytes=size, cell=cell.id)] if took else []
