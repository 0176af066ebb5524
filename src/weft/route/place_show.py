# SPDX-License-Identifier: BSD-3-Clause
"""Placements as text, as options of schedulers, and as JSON."""

from typing import Any

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from weft.fabric.importing import folded_names
from weft.fabric.network import Network
from weft.format import format_factor
from weft.route.place import Placement, Placements
from weft.route.rows import share


def names(network: Network, placement: Placement) -> list[str]:
    """The hosts in rank order."""
    return [network.hosts[h] for h in placement.hosts.tolist()]


def scheduler_words(network: Network, placement: Placement, free: list[str]) -> dict[str, str]:
    """Options for a scheduler: request these hosts, or exclude the other free ones."""
    chosen = names(network, placement)
    others = [name for name in free if name not in set(chosen)]
    words = {"nodelist": f"--nodelist={folded_names(sorted(chosen))}"}
    return words | ({"exclude": f"--exclude={folded_names(sorted(others))}"} if others else {})


def placement_text(found: Placements, network: Network, title: str, free: list[str]) -> RenderableType:
    """Best and worst placement as text, the verdict first."""
    best, worst = found.best, found.worst
    how = f"all {found.looked_at:,} sets looked at" if found.exact else f"{found.looked_at:,} sets looked at"
    head = (
        f"{title}: the best {len(best.hosts)} nodes carry {found.traffic} at {share(best.all_to_all):.0f} % of "
        f"injection, the worst at {share(worst.all_to_all):.0f} % ({how})"
    )
    table = Table(
        box=None, pad_edge=False, title="Times over that of the fastest host's own link", title_justify="left"
    )
    table.add_column("set")
    for name in (found.traffic.removeprefix("an "), "shift"):
        table.add_column(name, justify="right")
    table.add_column("nodes", overflow="fold")
    for name, each in (("best", best), ("worst", worst)):
        table.add_row(name, f"{each.all_to_all:.3f}", f"{each.shift:.3f}", folded_names(sorted(names(network, each))))
    if not found.exact:
        between = f"{format_factor(found.bound)} to {format_factor(found.limit)}"
        table.add_row("bounds", between, "", "none outside", style="dim")
    words = scheduler_words(network, best, free)
    order = Text("rank order: " + ",".join(names(network, best)))
    return Group(Text(head, style="bold"), Text(), table, Text(), *(Text(w) for w in words.values()), order)


def placement_tree(found: Placements, network: Network, free: list[str]) -> dict[str, Any]:
    """Best and worst placement for JSON (schema ``weft-place/1``)."""

    def tree(placement: Placement) -> dict[str, Any]:
        return {
            "nodes": names(network, placement),
            "all_to_all": placement.all_to_all,
            "shift": placement.shift,
        }

    return {
        "schema": "weft-place/1",
        "best": tree(found.best),
        "worst": tree(found.worst),
        "bounds": [found.bound, found.limit],
        "exact": found.exact,
        "looked_at": found.looked_at,
        "scheduler": scheduler_words(network, found.best, free),
    }
