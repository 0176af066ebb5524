# SPDX-License-Identifier: BSD-3-Clause
"""What a run's own warnings say against the times of a cell, weighed by what it could do to them (METHOD 20).

A disturbance lengthens a time, and never to less than its lower bound: each doubt is the least that its interval
could begin at without it. Steal: of a launch that lost the share s of its time, the median lost at most 2 s of
itself, as half of its samples have to be longer. Lost: the median of what the samples took at least (METHOD 11).
Swap, core: unknown, so the lower bound. What contradicts itself, is below the noise floor, a warning of the kernel or
between nodes on one host says nothing of the time at all.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple, cast

from weft.analyse import checks
from weft.analyse.checks import SHARED_HOST, below_floor, make_finding, place, self_checks
from weft.analyse.floor import Floor
from weft.analyse.statistics.interval import MODELLED, NO_INTERVAL, RANGES, interval_over_launches
from weft.analyse.tables.answers import FindingRow
from weft.analyse.tables.claims import Doubt
from weft.analyse.tables.pairs import ClassRow
from weft.analyse.tables.times import CallRow, MedianRow, TimedRow, reach, timed
from weft.fabric.nodeset import fold_for_people
from weft.format import format_bytes, plural
from weft.host import parse_cpus
from weft.plan.records import Plan
from weft.store.rows import RANK_TABLE, MeasuredRow, RankRow
from weft.store.tables import read_table

#: The doubts behind the rules of findings.
OF_RULE: Mapping[str, Doubt] = {
    "self-check": "wrong", "below-floor": "floor", "swap": "swap", "steal": "steal", "shared-core": "core",
    "shared-host": "host", "kernel": "kernel",
}  # fmt: skip
Launches = Mapping[int, MedianRow]


class Against(NamedTuple):
    """What a run says against the warm times of a call of a cell.

    ``keeps`` is how much of the interval's lower end surely remains, from 0 to 1, if the launches' medians are as long
    as they would have been without the disturbance; None where the number says nothing at all.
    """

    doubt: Doubt
    what: str
    keeps: float | None


def doubts(
    rows: Sequence[CallRow], medians: Iterable[MedianRow], measured: Iterable[MeasuredRow], floor: Floor
) -> dict[str, list[Against]]:
    """What is said against each cell's warm times, if anything: no wide interval, nor a bound that a sample beat."""
    cells: dict[str, list[MeasuredRow]] = defaultdict(list)
    for cell in measured:
        cells[cell["cell"]].append(cell)
    by_call = by_launch(medians)
    found: dict[str, list[Against]] = defaultdict(list)
    for row in timed(rows, phase="warm"):
        launches = by_call.get((row["cell"], row["call"]), {})
        own = [_against(each, None) for each in (*self_checks([row]), *below_floor([row], floor))]
        own += _of_machine(row, launches, cells[row["cell"]])
        kept = _kept(row, (each["least_s"] for each in launches.values()))
        if row["disturbed"] and kept < 1:
            own.append(Against("lost", f"{place(row)}: {checks.lost_in_words(row)}", kept))
        found[row["cell"]] += own
    return {cell: own for cell, own in found.items() if own}


def by_launch(medians: Iterable[MedianRow]) -> dict[tuple[str, str], dict[int, MedianRow]]:
    """The warm medians of each call of a cell, by launch."""
    found: dict[tuple[str, str], dict[int, MedianRow]] = {}
    for each in medians:
        if each["phase"] == "warm":
            found.setdefault((each["cell"], each["call"]), {})[each["launch"]] = each
    return found


def least_s(row: TimedRow, against: Iterable[Against]) -> float:
    """Seconds from which on the interval of a time could begin without what is said against it: its bound at least."""
    low, bound_s = reach(row)[0], row["bound_s"] or 0.0
    for each in against:
        low *= 0.0 if each.keeps is None else each.keeps
    return max(low, min(bound_s, reach(row)[0]))


def _against(found: FindingRow, keeps: float | None) -> Against:
    doubt = "bound" if found["rule"] == "self-check" and found["level"] == "warning" else OF_RULE[found["rule"]]
    return Against(doubt, f"{found['where']}: {found['what']}", keeps)


def _of_machine(row: TimedRow, launches: Launches, cells: Sequence[MeasuredRow]) -> list[Against]:
    """What the machine did to a call, by rule: steal by its share, the rest without a limit in the launches it met."""
    found: dict[Doubt, Against] = {}
    known = {launch: each["median_s"] for launch, each in launches.items()}
    least = {doubt: dict(known) for doubt in OF_RULE.values()}
    for cell in cells:
        kept = max(0.0, 1 - 2 * checks.share_of_steal(cell))
        for each in checks.machine([cell]):
            doubt = OF_RULE[each["rule"]]
            if cell["launch"] in known:
                least[doubt][cell["launch"]] = kept * known[cell["launch"]] if doubt == "steal" else 0.0
            found.setdefault(doubt, _against(each, None if doubt in ("kernel", "host") else 0.0))
    kept_of = {doubt: _kept(row, least[doubt].values()) for doubt in found}
    return [each if each.keeps is None else each._replace(keeps=kept_of[doubt]) for doubt, each in found.items()]


def _kept(row: TimedRow, least: Iterable[float]) -> float:
    """The share of the lower end of a row's interval that remains with other medians of its launches, in seconds."""
    low, medians = reach(row)[0], list(least)
    begins = interval_over_launches(medians, NO_INTERVAL).low if len(medians) > 1 else sum(medians)
    return min(1.0, (begins or 0.0) / low) if low else 0.0


def find_few_samples(rows: Sequence[CallRow], fewest: int) -> list[FindingRow]:
    """Warm rows with under ``fewest`` samples a launch, a warning if in all launches together; a model needs one."""
    own = [row for row in timed(rows, phase="warm") if row["interval"] not in RANGES | {MODELLED}]
    findings: list[FindingRow] = []
    for row in sorted(own, key=lambda row: row["samples"] / row["launches"]):
        if row["samples"] < fewest * row["launches"]:
            level = "warning" if row["samples"] < fewest else "note"
            counts = {"samples": plural(row["samples"], "sample"), "launches": plural(row["launches"], "launch")}
            findings.append(make_finding("few", place(row), level, **counts, fewest=fewest))
    return findings


def few_of_pairs(classes: Sequence[ClassRow], launches: int, fewest: int) -> list[FindingRow]:
    """Hop classes whose pairs have fewer than ``fewest`` samples a launch, those with fewest first."""
    findings: list[FindingRow] = []
    for row in sorted(classes, key=lambda row: row["samples"] / max(row["pairs"], 1)):
        each = row["samples"] / max(row["pairs"], 1)
        if row["samples"] and each < fewest * launches:
            level = "warning" if each < fewest else "note"
            where = f"{format_bytes(row['bytes'])}, {row['mode']}, {row['class']}"
            samples = f"{each:.2g} sample{'s' * (each != 1)} of a pair"
            counts = {"samples": samples, "launches": plural(launches, "launch")}
            findings.append(make_finding("few", where, level, **counts, fewest=fewest))
    return findings


def find_crowded_hosts(ranks: Iterable[RankRow]) -> list[FindingRow]:
    """A note if ranks on several virtual hosts are more than the processors that they may all use."""
    launches: dict[str, list[RankRow]] = defaultdict(list)
    for row in ranks:
        launches[row["launch_id"]].append(row)
    over = [own for own in launches.values() if len({row["host"] for row in own}) > 1 and len(own) > _processors(own)]
    if not over:
        return []
    worst = max(over, key=len)
    hosts = plural(len({row["host"] for row in worst}), "virtual host")
    where = f"{len(over)} of {plural(len(launches), 'launch')}"
    shared = plural(_processors(worst), "processor")
    return [make_finding("shared-core.hosts", where, ranks=len(worst), hosts=hosts, shared=shared)]


def _processors(ranks: Iterable[RankRow]) -> int:
    """Number of processors that some ranks may use; more than any machine's where that is not known."""
    return len(frozenset[int]().union(*(parse_cpus(row["cpus"]) for row in ranks))) or 1 << 30


def with_shared_hosts(rows: Sequence[MeasuredRow], plan: Plan, root: Path) -> list[MeasuredRow]:
    """The cells in their launches; with a warning where the ranks of a launch ran on fewer hosts than its nodes."""
    several = {launch.id: launch.nodes for launch in plan.launches if launch.nodes > 1}
    if not several:
        return list(rows)
    table = read_table(root, RANK_TABLE.name).group_by(["launch_id", "host"]).aggregate([])
    hosts: dict[str, list[str]] = defaultdict(list)
    for row in cast(list[RankRow], table.to_pylist()):  # of a million ranks those that differ
        hosts[row["launch_id"]].append(row["host"])
    warnings: dict[str, list[str]] = {}
    for name, nodes in several.items():
        known = sorted(filter(None, hosts[name]))
        if known and len(known) < nodes:
            ran = f"{nodes} nodes ran on {plural(len(known), 'host')}, {fold_for_people(known)}"
            warnings[name] = [f"{SHARED_HOST}: {ran}"]
    return [{**row, "warnings": [*(row["warnings"] or []), *warnings.get(row["launch_id"], [])]} for row in rows]
