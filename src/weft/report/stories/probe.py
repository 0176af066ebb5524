# SPDX-License-Identifier: BSD-3-Clause
"""The story of ``probe``: what messages cost and their bytes; `weft tune --probe` makes the model's numbers of it."""

from weft.analyse.tables.times import TimedRow, timed
from weft.format import exact_bytes, format_rate, format_seconds, measured_factor, measured_seconds, plural
from weft.kernel.sizes import op_name, split_op
from weft.report.headline import Number
from weft.report.stories.plain import PlainStory
from weft.report.view import RunView

#: All ranks at once take no more than so many times what one alone takes: they do not hold each other up.
SAME = 1.1


class ProbeStory(PlainStory):
    """The short message, the pace of many, the rate of long ones, and whether ranks hold each other up."""

    def line(self, view: RunView) -> str:
        """The time of the short message."""
        found = _trip(view)
        return f"{measured_seconds(found[0]['median_s'])} one way" if found else "No message was timed"

    def finding(self, view: RunView) -> str:
        """Time of a short message one way between as many nodes as there are."""
        found = _trip(view)
        if found is None:
            return "No message was timed: this run tells nothing of the cost model."
        row, size = found
        time = measured_seconds(row["median_s"], row["low_s"], row["high_s"])
        where = plural(row["nodes"], "node")
        return f"A message of {exact_bytes(size)} takes {time} one way, half of a round trip, on {where}."

    def answers(self, view: RunView) -> bool:
        """Whether a message was timed."""
        return _trip(view) is not None

    def cause(self, view: RunView) -> str:
        """What sets the pace of short messages: a rank alone, or what its node's ranks share."""
        pace = _pace(view)
        if pace is None:
            return ""
        count, alone, together = pace
        told = f"{count} of them back to back take a rank {format_seconds(alone / count)} each"
        if together <= SAME * alone:
            return f"{told}, alone as in company: each rank sets its own pace."
        longer = measured_factor(together / alone)
        return f"{told}, and {longer} times as long when all ranks of a node send: they hold each other up."

    def advice(self, view: RunView) -> str:
        """What follows for an application, and the verb that uses these times."""
        pace = _pace(view)
        if pace is None:
            return ""
        _, alone, together = pace
        many = "fewer and larger messages" if together <= SAME * alone else "fewer ranks that send at once"
        return f"To try: {many}; `weft tune --probe` makes the cost model's numbers of these times."

    def numbers(self, view: RunView) -> list[Number]:
        """The pace of short messages, and the rate that long ones reach."""
        pace, rate = _pace(view), _rate(view)
        found: list[Number] = []
        if rate is not None:
            found.append((format_rate(rate[0]), f"reached by messages of {exact_bytes(rate[1])}, all ranks of a node"))
        if pace is not None:
            count, alone, _ = pace
            found.append((format_seconds(alone / count), "for each of many short messages of one rank"))
        return found


def _trip(view: RunView) -> tuple[TimedRow, int] | None:
    """Row and size in bytes of the short message between the most nodes."""
    found = (
        (row, size)
        for row in timed(view.rows, phase="warm")
        if row["call"].startswith("trip") and (size := split_op(row["call"])[1]) is not None
    )
    return max(found, key=lambda each: each[0]["nodes"], default=None)


def _seconds(view: RunView, cell: str) -> dict[str, float]:
    """Time of each operation of a cell by name, in seconds."""
    return {row["call"]: row["median_s"] for row in timed(view.rows, phase="warm") if row["cell"] == cell}


def _pace(view: RunView) -> tuple[int, float, float] | None:
    """How many short messages one train has, its time from one rank alone and from all; None if not timed."""
    found = _trip(view)
    if found is None:
        return None
    row, size = found
    values, seconds = view.plan.cell(row["cell"]).parameters, _seconds(view, row["cell"])
    count = int(values["messages"]) * int(values["more"])
    alone, together = (seconds.get(op_name(f"{who}-{count}", size)) for who in ("one", "all"))
    return (count, alone, together) if alone and together else None


def _rate(view: RunView) -> tuple[float, int] | None:
    """Bytes a second that all senders of a node reach with the longest messages, and their size; None if not timed."""
    found = _trip(view)
    if found is None:
        return None
    cell = view.plan.cell(found[0]["cell"])
    trains, size = int(cell.parameters["trains"]), int(cell.parameters["large"]) * int(cell.parameters["longer"])
    took = _seconds(view, cell.id).get(op_name(f"all-{trains}", size))
    senders = cell.ranks_per_node if cell.nodes > 1 else cell.ranks // 2
    return (trains * senders * size / took, size) if took else None


STORY = ProbeStory
