# SPDX-License-Identifier: BSD-3-Clause
"""A fabric as text for the terminal: its tree, bisection, hop classes and all-to-all."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from rich.console import Console, Group, RenderableType
from rich.table import Table
from rich.text import Text
from rich.tree import Tree

from weft.errors import FabricError
from weft.fabric.checks import COLOURS, Finding
from weft.fabric.drawing.layout import switch_pods
from weft.fabric.model import Fabric
from weft.fabric.network.graph import Network
from weft.fabric.nodeset import fold_for_people
from weft.fabric.presets import presets
from weft.fabric.summary import Level, Summary
from weft.format import format_factor, format_rate, plural
from weft.text import lean_table

FIRST, LAST = 3, 1
ROLES = {1: "leaves", 2: "spines", 3: "cores"}
SINGLE = {"leaves": "leaf", "spines": "spine", "cores": "core", "routers": "router", "switches": "switch"}


def role(network: Network, level: int) -> str:
    """Name of the switches of a level, such as "leaf" or "spine"."""
    by_topology = {"star": "switches", "torus": "switches", "dragonfly": "routers"}
    return by_topology.get(network.topology) or ROLES.get(level, f"level {level}")


def counted(network: Network, level: int, count: int) -> str:
    """``count`` switches of a level in words: "1 core", "162 cores"."""
    noun = role(network, level)
    return f"{count:,} {SINGLE.get(noun, noun) if count == 1 else noun}"


def describe(summary: Summary, title: str) -> RenderableType:
    """The tree and the tables of a fabric, for the terminal."""
    classes = [Text(), _classes(summary)] if summary.classes else []
    return Group(_tree(summary, title), Text(), _implications(summary), *classes)


def sizes(summary: Summary) -> str:
    """Hosts, switches and cables in words."""
    nouns = ("host", "switch", "cable" if summary.network.cables_known else "connection")
    return ", ".join(plural(count, noun) for noun, count in zip(nouns, summary.counts.values(), strict=True))


def _tree(summary: Summary, title: str) -> Tree:
    network = summary.network
    about = (f"\n{network.topology}; routes: {network.routing}", "dim")
    root = branch = Tree(Text.assemble((title, "bold"), f": {sizes(summary)}", about))
    for level in reversed(summary.levels[1:]):
        branch = branch.add(_level_line(network, level))
    leaves = branch.add(_level_line(network, summary.levels[0])) if summary.levels else branch
    for line in _leaf_lines(network):
        leaves.add(line)
    return root


def _level_line(network: Network, level: Level) -> Text:
    line = ""
    pods = switch_pods(network)[network.level == level.level]
    count = len(np.unique(pods[pods >= 0]))
    if count > 1 and (pods >= 0).all():
        line += f" in {count} {'groups' if network.topology == 'dragonfly' else 'pods'}"
    if level.up:
        line += f", {level.up:,} cables up"
    if np.isfinite(level.most):
        spread = format_factor(level.most)
        if level.most - level.least > 1e-9:
            spread = f"{format_factor(level.least)} to {spread}"
        line += f", oversubscription {spread}"
    return Text.assemble((counted(network, level.level, level.switches), "bold"), line)


def _leaf_lines(network: Network) -> list[Text]:
    """A line for each leaf; if there are many, the first and the last ones and how many are omitted."""

    def line(leaf: int, hosts: NDArray[np.intp]) -> Text:
        count = f"{len(hosts):>3} {'host' if len(hosts) == 1 else 'hosts'}"
        names = fold_for_people(network.hosts[int(host)] for host in hosts)
        return Text.assemble(network.switches[leaf].name, (f"  {count}  ", "dim"), names)

    rows = list(network.hosts_below.items())
    if len(rows) <= 12:
        return [line(*each) for each in rows]
    sizes = [len(hosts) for _, hosts in rows[FIRST:-LAST]]
    each = f"{min(sizes)} hosts each" if min(sizes) == max(sizes) else f"{min(sizes)} to {max(sizes)} hosts each"
    between = Text(f"... {len(sizes)} more, {each}", style="dim")
    return [*(line(*one) for one in rows[:FIRST]), between, *(line(*one) for one in rows[-LAST:])]


def rate(value: float) -> str:
    """A rate in bytes per second as text; "unknown" if it is not finite."""
    # format_rate rounds first: a quotient of 999.9999999 MB/s reads 1 GB/s.
    return format_rate(value) if np.isfinite(value) else "unknown"


def _implications(summary: Summary) -> Table:
    table = Table.grid(padding=(0, 2))
    cut, hot, several = summary.bisection, summary.hottest, len(summary.network.hosts) > 1
    if np.isfinite(cut.rate) and several:
        share = f"{format_factor(100 * cut.share)} % of what the adapters of one half can send ({rate(cut.full)})"
        table.add_row("bisection", rate(cut.rate), share)
    else:
        table.add_row("bisection", "unknown", "the fabric states no rates" if several else "a single host")
    if hot is None:
        if several:
            table.add_row("all-to-all", "unknown", "the dump lists connections, not cables")
        return table
    table.add_row("all-to-all, most loaded link", hot.name, f"{hot.load:,} times what one host sends to one other")
    if np.isfinite(hot.rate_per_host):
        slower = hot.relative >= 1.001
        pace = f"{format_factor(hot.relative)} times the adapter's time" if slower else "as fast as the slowest adapter"
        table.add_row("all-to-all, rate of a host", rate(hot.rate_per_host), pace)
    return table


def _classes(summary: Summary) -> Table:
    on_node = sum(summary.ranks_per_socket)
    what = f"{on_node} ranks a host" if on_node > 1 else "one rank a host"
    unit = "links, host links included" if summary.network.end_hops else "links between switches"
    title = f"Pairs of ranks, {what}; hops count {unit}"
    table = lean_table("nearest common", "hops", "ordered pairs", "share", title=title)
    total = sum(c.pairs for c in summary.classes)
    for c in summary.classes:
        hops = "no route" if c.hops < 0 else str(c.hops)
        table.add_row(c.level, hops, f"{c.pairs:,}", f"{format_factor(100 * c.pairs / total)} %")
    return table


def show_findings(name: str, findings: Sequence[Finding], console: Console) -> None:
    """Print each finding (severity and what, then cause and remedy), and how many there are."""
    for finding in findings:
        console.print(Text.assemble((f"{finding.severity}: ", COLOURS[finding.severity]), finding.what), soft_wrap=True)
        console.print(Text(f"  {finding.cause}", style="dim"), soft_wrap=True)
        console.print(Text(f"  -> {finding.remedy}"), soft_wrap=True)
    counts = {severity: sum(f.severity == severity for f in findings) for severity in COLOURS}
    counted = ", ".join(f"{count} {severity}{'s' if count > 1 else ''}" for severity, count in counts.items() if count)
    console.print(Text(f"{name}: {counted or 'nothing found'}"))


def ranks_by_socket(fabric: Fabric, ranks: int | None = None) -> tuple[int, ...]:
    """Ranks on each socket of a node, sockets filled in turn; its cores by default. FabricError for less than one."""
    cores, sockets = fabric.node.cores or 1, fabric.node.sockets or 1
    total = cores if ranks is None else ranks
    if total < 1:
        raise FabricError(f"{total} ranks on a node", "give at least 1")
    room = max(1, -(-max(cores, total) // sockets))
    return tuple(max(0, min(room, total - room * socket)) for socket in range(sockets))


PRESET_COLUMNS = {
    "copy_rate is worked out from the memory's data sheet": ("node", "sockets", "cores", "copy_rate", "latency"),
    "rates count data, one way": ("network", "adapter_rate", "latency", "link_latency", "transport"),
}


def preset_tables() -> list[Table]:
    """A table for each section; FabricError if a shipped file cannot be read."""
    tables: list[Table] = []
    for caption, (section, *columns) in PRESET_COLUMNS.items():
        title = f"[{section}] preset = ..."
        table = lean_table("preset", *columns, words=range(len(columns) + 1), title=title, caption=caption)
        for each in presets(section):
            table.add_row(each.name, *(str(each.values.get(key, "-")) for key in columns))
        tables.append(table)
    return tables
