# SPDX-License-Identifier: BSD-3-Clause
"""Named facts for the page: how the times of a run were measured or modelled, its provenance, its machine's floor."""

import json
from collections import Counter
from collections.abc import Iterable, Sequence

from weft.analyse.tables.pairs import CLASSES, CONTENTION, ClassRow, ContentionRow
from weft.analyse.tables.times import CallRow
from weft.format import format_bytes, format_rate, measured_seconds, percent, plural, with_title
from weft.kernel.registry import kernel_named
from weft.report.intervals import interval_meaning
from weft.report.view import RunView
from weft.store.rows import LAUNCH_TABLE, MEASURED, RANK_TABLE, SEGMENT_TABLE, MeasuredRow, RankRow, SegmentRow
from weft.store.tables import grouped

Facts = list[tuple[str, str]]
SPAN, LONGEST = "last end minus first start over the ranks", "longest duration of a rank"
STARTS = {
    "barrier": "ranks leave Weft's own dissemination barrier together",
    "mpi-barrier": "ranks leave MPI_Barrier together",
    "window": "ranks start at an agreed time; late starts are dropped",
}
ENDINGS = {
    "precision": "the precision", "samples": "the most samples", "budget": "the time budget",
    "residual": "clocks that turned out too far apart", "single": "its one sample",
}  # fmt: skip


def how_measured(view: RunView) -> Facts:
    """Definition, launches, stop rule, samples, clocks, validation."""
    warm = [row for row in view.rows if row["phase"] == "warm" and row["status"] == "ok" and row["samples"]]
    classes = CLASSES.read(view.path) if pairs_measured(view) else []
    facts = [("Time of a call", _definitions(warm, classes, modelled=view.plan.is_model))]
    if view.plan.is_model:
        counts = sorted({row["samples"] for row in warm})
        several = f"{counts[0]:,} to {counts[-1]:,} of a row, such as one for each root" if counts[1:] else ""
        facts.append(("Samples", f"{several or 'one of a row'}, in one launch: a model gives the same time again"))
        facts.append(("Start of a call", STARTS.get(view.plan.measure.start, view.plan.measure.start)))
        facts.append(("Cold and warm", "cold is the first call on fresh connections; warm is a later one"))
    else:
        facts += _of_launches(view, warm, classes)
    if meaning := interval_meaning(with_intervals(view)):
        facts.append(("Interval", meaning))
    if any(verdict["low"] is not None for verdict in view.verdicts):
        facts.append(("Factor between two times", "in brackets the range that the intervals of both times allow"))
    cells = MEASURED.read(view.path)
    if not view.plan.is_model:
        facts.append(("Clocks", clocks(cells, warm)))
    return [*facts, ("Validation", validation(cells))]


def pairs_measured(view: RunView) -> bool:
    """Whether a run has times of pairs, which stand in tables of their own."""
    return any(row["status"] == "ok" and kernel_named(row["kernel"]).has_pair_samples for row in view.rows)


def with_intervals(view: RunView) -> list[CallRow | ContentionRow]:
    """The rows of a run whose brackets its tables print: of calls, and of contention between pairs."""
    ranges = CONTENTION.read(view.path) if pairs_measured(view) else []
    return [*(row for row in view.rows if row["samples"]), *ranges]


def _of_launches(view: RunView, warm: Sequence[CallRow], classes: Sequence[ClassRow]) -> Facts:
    measure = view.plan.measure
    launches = f"{plural(measure.launches, 'launch')} of every cell, in an order shuffled by seed {view.plan.seed}"
    rule = f"in each launch until the 95 % interval of the median is within ±{percent(measure.precision)}, from "
    rule += f"{measure.min_samples} to {measure.max_samples} samples, or until {measure.budget:g} s have gone into one "
    rule += "call of one cell, whatever the number is by then"
    started = STARTS.get(measure.start, measure.start)
    facts: Facts = [("Repetition", launches), ("Start of a call", started), ("Samples", rule)]
    if warm:
        calls = {(row["cell"], row["call"]) for row in warm}
        series = [row for row in SEGMENT_TABLE.read(view.path) if row["phase"] == "warm"]
        facts.append(("What ended it", endings([row for row in series if (row["cell"], row["op"]) in calls])))
        counts = sorted(row["samples"] for row in warm)
        dropped, disturbed = (sum(row[key] for row in warm) for key in ("discarded", "disturbed"))
        text = f"{counts[0]:,} to {counts[-1]:,} of a row, over all its launches; {dropped:,} dropped for a late start"
        facts.append(("Samples taken", f"{text}, {disturbed:,} disturbed (kept and marked)"))
    elif classes:
        facts.append(("Samples taken", taken_of_pairs(classes, measure.launches)))
    warm_up = "cold is the first call on fresh connections; warm begins when five batches agree within 5 %"
    return [*facts, ("Cold and warm", warm_up)]


def endings(series: Sequence[SegmentRow]) -> str:
    """What ended each series of samples; the numbers add up."""
    found = Counter(row["ended_by"] for row in series)
    counts = (f"{count:,} by {ENDINGS.get(ending, 'what is not recorded')}" for ending, count in found.most_common())
    text = f"of {len(series):,} series of samples, one for each warm row and launch: {', '.join(counts)}"
    return f"{text}. Each launch judges its own samples; warnings judge how far the launches differ"


def taken_of_pairs(classes: Sequence[ClassRow], launches: int) -> str:
    """Fewest and most samples of a pair over its launches."""
    counts = sorted(row["samples"] / row["pairs"] for row in classes if row["pairs"])
    return f"{counts[0]:.3g} to {counts[-1]:.3g} of a pair, over {plural(launches, 'launch')}" if counts else "none"


def _definitions(rows: Sequence[CallRow], classes: Sequence[ClassRow], *, modelled: bool) -> str:
    if not rows:
        return "half the round trip of a pair" if classes else "no call was measured"
    names = {
        "global": SPAN if modelled else f"{SPAN}, on synchronised clocks",
        "local": LONGEST if modelled else f"{LONGEST} (clocks were too far apart for a common time)",
    }
    found = Counter(row["definition"] for row in rows).most_common()
    listed = [f"{names.get(name, 'by launch either of the two')} ({plural(count, 'row')})" for name, count in found]
    return "; ".join(listed) if len(listed) > 1 else listed[0].rsplit(" (", 1)[0]


def clocks(cells: Iterable[MeasuredRow], warm: Sequence[CallRow]) -> str:
    """How the ranks came to a common time, in launches on one host and on several, and how far apart they were."""
    names = {
        "shared": "on one host its monotonic clock, which all ranks share",
        "tree": "across hosts offsets measured along a tree of nodes",
    }
    if not (rows := [row for row in cells if row["clock_method"]]):
        return "not recorded"
    methods = "; ".join(names.get(method, method) for method in sorted({str(row["clock_method"]) for row in rows}))
    if not (worst := max(row["clock_residual_ns"] or 0 for row in rows)):
        return methods
    local = sum(row["definition"] != "global" for row in warm)
    taken = ". Where that was over 10 % of a time, the longest duration of a rank is taken"
    taken += f" ({local} of {plural(len(warm), 'warm row')})"
    return f"{methods}; in the end they disagreed by up to {measured_seconds(worst * 1e-9)}{taken if warm else ''}"


def validation(cells: Sequence[MeasuredRow]) -> str:
    """In how many cells and launches the data were checked, and why not in the others."""
    proven = sum(bool(row["validated"]) for row in cells)
    text = f"data checked after the timed part in {proven} of {plural(len(cells), 'cell')} and launches"
    why = sorted({row["validation_detail"] for row in cells if not row["validated"] and row["validation_detail"]})
    return f"{text}; not in the others: {'; '.join(why)}" if why else text


def provenance(view: RunView) -> Facts:
    """Weft, MPI, machine, binding, clock, seed."""
    launches, ranks, plan = LAUNCH_TABLE.read(view.path), RANK_TABLE.read(view.path), view.plan
    hosts = sorted({row["host"] for row in ranks})
    more = f" and {len(hosts) - 12} more" if len(hosts) > 12 else ""
    commit = view.meta.get("commit")
    source = f"commit {str(commit)[:12]}" if commit else "commit unknown"
    pages = sorted({row["page_bytes"] for row in launches if row["page_bytes"]})
    cache = _distinct(row["cache"] for row in launches)
    timer = "unknown"
    if launches:
        resolution, cost = (max(row[key] for row in launches) for key in ("clock_resolution_ns", "clock_cost_ns"))
        timer = f"resolution {measured_seconds(resolution * 1e-9)}, cost of a reading {measured_seconds(cost * 1e-9)}"
    return [
        ("Run folder", str(view.path)),
        ("Study", with_title(plan.study, plan.title)),
        ("Fabric", f"{plan.fabric} ({plan.fabric_kind})"),
        ("Made", f"{view.meta.get('created', 'unknown')} by weft {view.meta.get('weft', 'unknown')} ({source})"),
        ("MPI library", _distinct(row["mpi_library"] for row in launches)),
        ("MPI standard", _distinct(row["mpi_standard"] for row in launches)),
        ("Processor", _distinct(row["processor"] for row in launches)),
        ("Hosts", (", ".join(hosts[:12]) + more) or "unknown"),
        ("Binding obtained", binding(ranks)),
        ("Kernel sources", _distinct(row["kernel_sources"] for row in launches)),
        *([] if plan.is_model else [("Timer", timer)]),
        ("Buffers", f"{cache} caches, pages of {', '.join(map(format_bytes, pages)) or 'unknown size'}"),
        ("Seed", str(plan.seed)),
    ]


def _distinct(values: Iterable[str]) -> str:
    return "; ".join(sorted({value.strip() for value in values if value})) or "unknown"


def binding(ranks: Iterable[RankRow]) -> str:
    """The binding of the ranks, as they read it from the system."""
    if not (launches := grouped(ranks, lambda row: row["launch_id"])):
        return "unknown"
    alone = sum(
        len({(row["host"], row["cpus"]) for row in found}) == len(found)
        and all(row["cpus"] and not {"-", ","} & set(row["cpus"]) for row in found)
        for found in launches.values()
    )
    if alone == len(launches):
        return "each rank on its own processor"
    free = f"ranks unbound, or sharing processors, in {len(launches) - alone} of {plural(len(launches), 'launch')}"
    return free + (", each on its own processor in the others" if alone else "")


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
    names = {"empty": "empty operation", "swap": "two messages of 8 B that cross"}
    names["latency"] = "one-way latency, 8 B (half the round trip)"
    for row in view.floor:
        where = f"{plural(row['nodes'], 'node')}, {plural(row['ranks_per_node'], 'rank')} a node"
        if row["quantity"] == "copy":
            name = f"copy, {format_bytes(row['bytes'])} a rank"
            value = f"{format_rate(row['value'])} a node, {row['way']}" if row["value"] else "–"
            if row["value"] and row["best"]:
                value += f"; the fastest sample, which lower bounds take, {format_rate(row['best'])}"
        else:
            name, value = names.get(row["quantity"], row["quantity"]), measured_seconds(row["value"])
        facts.append((f"{where}: {name}", value))
    return facts
