# SPDX-License-Identifier: BSD-3-Clause
"""How a run was measured, and its provenance: named facts for page and terminal."""

import json
from collections import Counter
from collections.abc import Iterable, Sequence

from weft.analyse.tables.times import CallRow
from weft.format import format_bytes, format_rate, measured_seconds, plural, with_title
from weft.report.intervals import interval_meaning
from weft.report.view import RunView
from weft.store.rows import LAUNCH_TABLE, MEASURED, RANK_TABLE, LaunchRow, MeasuredRow, RankRow

Facts = list[tuple[str, str]]

DEFINITIONS = {
    "global": "last end minus first start over the ranks, on synchronised clocks",
    "local": "longest duration of a rank (the clock residual was too large for a common time)",
}
STARTS = {
    "barrier": "ranks leave Weft's own dissemination barrier together",
    "mpi-barrier": "ranks leave MPI_Barrier together",
    "window": "ranks start at an agreed time; late starts are dropped",
}
ENDINGS = {
    "precision": "reached the precision",
    "samples": "reached the sample limit",
    "budget": "reached the time budget",
}


def how_measured(view: RunView) -> Facts:
    """Definition, launches, stop rule, samples, clocks, validation."""
    measure, cells = view.plan.measure, MEASURED.read(view.path)
    warm = [row for row in view.rows if row["phase"] == "warm" and row["status"] == "ok" and row["samples"]]
    facts: Facts = [("Time of a call", _definitions(warm))]
    launches = f"{plural(measure.launches, 'launch')} of every cell, in an order shuffled by seed {view.plan.seed}"
    facts.append(("Repetition", launches))
    facts.append(("Start of a call", STARTS.get(measure.start, measure.start)))
    half = f"{measure.precision:.0%}"
    rule = f"until the 95 % interval of the median lies within ±{half}, at least {measure.min_samples} and at most "
    rule += f"{measure.max_samples} samples, or {measure.budget:g} s of one call in one cell and launch"
    facts.append(("Samples", rule))
    if warm:
        counts = sorted(row["samples"] for row in warm)
        ended = Counter(ending for row in warm for ending in row["ended_by"].split(", ") if ending)
        endings = ", ".join(f"{count} {ENDINGS.get(ending, ending)}" for ending, count in ended.most_common())
        facts.append(
            ("What ended it", f"of {plural(len(warm), 'warm row')}, over their launches: {endings or 'not recorded'}")
        )
        dropped, tainted = (sum(row[key] for row in warm) for key in ("discarded", "tainted"))
        spread = (
            f"{counts[0]:,} to {counts[-1]:,} a row; {dropped:,} dropped for a late start, {tainted:,} interrupted "
        )
        facts.append(("Samples taken", spread + "(kept and marked)"))
    facts.append(
        ("Cold and warm", "cold is the first call on fresh connections; warm begins when five batches agree within 5 %")
    )
    facts.append(("Interval", f"{interval_meaning(warm)} Order statistics assume no distribution.".lstrip()))
    facts.append(("Clocks", _clocks(cells)))
    proven = sum(bool(row["validated"]) for row in cells)
    facts.append(
        ("Validation", f"data checked after the timed part in {proven} of {plural(len(cells), 'cell')} and launches")
    )
    return facts


def _definitions(rows: Iterable[CallRow]) -> str:
    found = Counter(row["definition"] for row in rows)
    if not found:
        return "no call was measured"
    definitions = [
        f"{DEFINITIONS.get(name, 'by launch either of the two')} ({count} rows)" for name, count in found.most_common()
    ]
    return "; ".join(definitions) if len(definitions) > 1 else definitions[0].rsplit(" (", 1)[0]


def _clocks(cells: Iterable[MeasuredRow]) -> str:
    names = {"shared": "one host, shared monotonic clock", "tree": "offsets measured along a tree of nodes"}
    rows = [row for row in cells if row["clock_method"]]
    if not rows:
        return "not recorded"
    methods = "; ".join(names.get(method, method) for method in sorted({str(row["clock_method"]) for row in rows}))
    worst = max(row["clock_residual_ns"] or 0 for row in rows)
    return f"{methods}; largest residual {measured_seconds(worst * 1e-9)}"


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
    """Noise floor, latency and copy rate of each shape, with their intervals."""
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
            value = f"{format_rate(row['value'])} a node, {row['way']}" if row["value"] else "–"
        else:
            name, value = names.get(row["quantity"], row["quantity"]), measured_seconds(row["value"])
        facts.append((f"{where}: {name}", value))
    return facts
