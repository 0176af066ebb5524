# SPDX-License-Identifier: BSD-3-Clause
"""The provenance of a run, and the floor of its machine: named facts for the page."""

import json
from collections import Counter
from collections.abc import Iterable, Sequence

from weft.analyse.tables.times import FloorRow
from weft.format import format_bytes, format_rate, measured_seconds, plural, with_title
from weft.report.method import Facts
from weft.report.view import RunView
from weft.store.rows import LAUNCH_TABLE, RANK_TABLE, LaunchRow, RankRow


def provenance(view: RunView) -> Facts:
    """Weft, MPI, machine, binding, clock, seed."""
    launches, ranks, plan = LAUNCH_TABLE.read(view.path), RANK_TABLE.read(view.path), view.plan
    kind = f"{plan.fabric} ({plan.fabric_kind})"
    facts: Facts = [("Run folder", str(view.path)), ("Study", with_title(plan.study, plan.title)), ("Fabric", kind)]
    facts.append(
        ("Made", f"{view.meta.get('created', 'unknown')} by weft {view.meta.get('weft', 'unknown')} ({_commit(view)})")
    )
    facts.append(("MPI library", _distinct(row["mpi_library"] for row in launches)))
    facts.append(("MPI standard", _distinct(row["mpi_standard"] for row in launches)))
    facts.append(("Processor", _distinct(row["processor"] for row in launches)))
    hosts = sorted({row["host"] for row in ranks})
    facts.append(
        ("Hosts", ", ".join(hosts[:12]) + (f" and {len(hosts) - 12} more" if len(hosts) > 12 else "") or "unknown")
    )
    facts.append(("Binding obtained", binding(ranks)))
    facts.append(("Kernel sources", _distinct(row["kernel_sources"] for row in launches)))
    if not plan.is_model:
        facts.append(("Timer", _timer(launches)))
    pages = sorted({row["page_bytes"] for row in launches if row["page_bytes"]})
    cache = _distinct(row["cache"] for row in launches)
    facts.append(("Buffers", f"{cache} caches, pages of {', '.join(map(format_bytes, pages)) or 'unknown size'}"))
    facts.append(("Seed", str(plan.seed)))
    return facts


def _commit(view: RunView) -> str:
    commit = view.meta.get("commit")
    return f"commit {str(commit)[:12]}" if commit else "commit unknown"


def _distinct(values: Iterable[str]) -> str:
    found = sorted({value.strip() for value in values if value})
    return "; ".join(found) or "unknown"


def _timer(launches: Sequence[LaunchRow]) -> str:
    if not launches:
        return "unknown"
    resolution, cost = (
        max(row["clock_resolution_ns"] for row in launches),
        max(row["clock_cost_ns"] for row in launches),
    )
    return f"resolution {measured_seconds(resolution * 1e-9)}, cost of a reading {measured_seconds(cost * 1e-9)}"


def binding(ranks: Iterable[RankRow]) -> str:
    """The binding of the ranks, as they read it from the system."""
    launches: dict[str, list[str]] = {}
    for row in ranks:
        launches.setdefault(row["launch_id"], []).append(f"{row['host']}:{row['cpus']}")
    if not launches:
        return "unknown"
    alone = sum(
        len(set(found)) == len(found) and not any(_several(cpus) for cpus in found) for found in launches.values()
    )
    if alone == len(launches):
        return "each rank on its own processor"
    free = f"ranks unbound, or sharing processors, in {len(launches) - alone} of {plural(len(launches), 'launch')}"
    return free + (", each on its own processor in the others" if alone else "")


def _several(cpus: str) -> bool:
    listed = cpus.partition(":")[2]
    return "-" in listed or "," in listed or not listed


def settings(view: RunView) -> Facts:
    """Settings of the library and its environment that differ from the default, with the number of launches."""
    launches = LAUNCH_TABLE.read(view.path)
    found = Counter((name, value) for row in launches for name, value in json.loads(row["settings"] or "{}").items())
    return [
        (name, value + (f" (in {count} of {len(launches)} launches)" if count < len(launches) else ""))
        for (name, value), count in sorted(found.items())
    ]


def floor_facts(view: RunView) -> Facts:
    """Noise floor, latency and copy rate of each shape, and the fastest copies, from which lower bounds follow."""
    facts: Facts = []
    names = {
        "empty": "empty operation",
        "latency": "one-way latency, 8 B (half the round trip)",
        "swap": "two messages of 8 B that cross",
    }
    for row in view.floor:
        where = f"{plural(row['nodes'], 'node')}, {plural(row['ranks_per_node'], 'rank')} a node"
        if row["quantity"] == "copy":
            name = f"copy, {format_bytes(row['bytes'])} a rank"
            value = f"{format_rate(row['value'])} a node, {row['way']}{_best(row)}" if row["value"] else "–"
        else:
            name, value = names.get(row["quantity"], row["quantity"]), measured_seconds(row["value"])
        facts.append((f"{where}: {name}", value))
    return facts


def _best(row: FloorRow) -> str:
    return f"; the fastest sample, which lower bounds take, {format_rate(row['best'])}" if row["best"] else ""
