# SPDX-License-Identifier: BSD-3-Clause
"""The story of ``bandwidth``: rates of flows of messages, and the library's eager limit."""

from weft.report.figures import Figure, Figures
from weft.report.sweep_tables import SweepStory, change_tables, rate_table
from weft.report.tabular import Table, existing
from weft.report.view import RunView


class BandwidthStory(SweepStory):
    """Peak rate, eager limit, and the rate on both sides of it."""

    streams = True

    def tables(self, view: RunView) -> list[Table]:
        lines = self.lines(view)
        names = [line.name for line in lines]
        if not lines:
            return []
        window = max(line.cell.parameters["window"] for line in lines)
        kind = "Rate" if any(line.cell.parameters.get("way") == "both" for line in lines) else "One-way rate"
        rates = rate_table(view.titled(f"{kind}, up to {window} messages in flight"), lines, names)
        changes, trials, slower = change_tables(view, lines, names)
        return existing(changes, trials, rates, slower)

    def figures(self, view: RunView) -> Figures:
        from weft.report.figures.sizes import KEY, RATE_KEY, size_panel

        if not (lines := self.lines(view)):
            return []
        drawn, window = [(line, line.name) for line in lines], max(line.cell.parameters["window"] for line in lines)
        rates, costs = (size_panel(drawn, quantity, small=False) for quantity in ("rate", "time"))
        key = f"The reciprocal of the rate, with up to {window} messages in flight: no latency. {KEY}"
        titles = view.titled("Bandwidth against message size"), view.titled("Time of a window over its messages")
        return [
            Figure("bandwidth", titles[0], RATE_KEY, view.headline, (rates,)),
            Figure("message-time", titles[1], key, view.claim_line("threshold"), (costs,)),
        ]


STORY = BandwidthStory
