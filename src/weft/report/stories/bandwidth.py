# SPDX-License-Identifier: BSD-3-Clause
"""The story of ``bandwidth``: rates of flows of messages, and the library's eager limit."""

from collections.abc import Sequence

from weft.analyse.tables.sweeps import Line
from weft.report.figures import Figure, Figures
from weft.report.sweep_tables import (
    CHANGE_TITLE,
    MOVED,
    SweepStory,
    change_table,
    rate_table,
    slower_table,
    trial_table,
)
from weft.report.tabular import Table, existing
from weft.report.view import RunView


class BandwidthStory(SweepStory):
    """Peak rate, eager limit, and the rate on both sides of it."""

    streams = True

    def tables(self, view: RunView) -> list[Table]:
        """Rates by size and pattern, change-overs, sizes slower than their double."""
        lines = self.lines(view)
        names = [line.name for line in lines]
        if not lines:
            return []
        return existing(
            change_table(view.titled(CHANGE_TITLE), lines, names, modelled=view.plan.is_model),
            trial_table(view.titled(MOVED), lines, names),
            rate_table(view.titled(f"{_kind(lines)}, up to {_window(lines)} messages in flight"), lines, names),
            slower_table(view.titled("Messages slower than their double"), lines, names),
        )

    def figures(self, view: RunView) -> Figures:
        """Rate and time against size."""
        from weft.report.figures.sizes import KEY, RATE_KEY, Drawn, size_panel

        drawn = [Drawn(line, line.name) for line in self.lines(view)]
        if not drawn:
            return []
        rates = size_panel(drawn, "rate", small=False)
        costs = size_panel(drawn, "time", small=False)
        key = (
            f"The reciprocal of the rate, with up to {_window(self.lines(view))} messages in flight: no latency. {KEY}"
        )
        return [
            Figure("bandwidth", view.titled("Bandwidth against message size"), RATE_KEY, view.headline, (rates,)),
            Figure(
                "message-time",
                view.titled("Time of a window over its messages"),
                key,
                view.claim_line("threshold"),
                (costs,),
            ),
        ]


def _kind(lines: Sequence[Line]) -> str:
    return "Rate" if any(line.cell.parameters.get("way") == "both" for line in lines) else "One-way rate"


def _window(lines: Sequence[Line]) -> int:
    """Messages in flight, at most."""
    return max(line.cell.parameters["window"] for line in lines)


STORY = BandwidthStory
