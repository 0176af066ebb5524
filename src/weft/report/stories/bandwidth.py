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
        kind = "Rate" if any(line.cell.parameters.get("way") == "both" for line in lines) else "One-way rate"
        return existing(
            change_table(view.titled(CHANGE_TITLE), lines, names, modelled=view.plan.is_model),
            trial_table(view.titled(MOVED), lines, names),
            rate_table(view.titled(f"{kind}, up to {_window(lines)} messages in flight"), lines, names),
            slower_table(view.titled("Messages slower than their double"), lines, names),
        )

    def figures(self, view: RunView) -> Figures:
        """Rate and time against size."""
        from weft.report.figures.sizes import KEY, RATE_KEY, Drawn, size_panel

        lines = self.lines(view)
        if not lines:
            return []
        drawn = [Drawn(line, line.name) for line in lines]
        rates, costs = (size_panel(drawn, quantity, small=False) for quantity in ("rate", "time"))
        key = f"The reciprocal of the rate, with up to {_window(lines)} messages in flight: no latency. {KEY}"
        titles = view.titled("Bandwidth against message size"), view.titled("Time of a window over its messages")
        return [
            Figure("bandwidth", titles[0], RATE_KEY, view.headline, (rates,)),
            Figure("message-time", titles[1], key, view.claim_line("threshold"), (costs,)),
        ]


def _window(lines: Sequence[Line]) -> int:
    """Messages in flight, at most."""
    return max(line.cell.parameters["window"] for line in lines)


STORY = BandwidthStory
