# SPDX-License-Identifier: BSD-3-Clause
"""What a run's own warnings say against the times of a cell, weighed by what it could do to them (METHOD 20).

A disturbance lengthens a time, and never to less than its lower bound: each doubt is the least that its interval
could begin at without it. Steal: of a launch that lost the share s of its time, the median lost at most 2 s of
itself, as half of its samples have to be longer. Lost: the median of what the samples took at least (METHOD 11).
Swap, core: unknown, so the lower bound. What contradicts itself, is below the noise floor, a warning of the kernel or
between nodes on one host says nothing of the time at all.

Of the quality of a run, A to D, `RULES` decide and nothing else. Each doubt is counted as the share of what it
touches: warm rows, or cells in one launch. A rule says from which share on the run is no better than B, C or D; its
quality is the worst of its doubts, so that a further one never raises it. Where a verdict answers, whose interval is
its own, a doubt in `WEIGHED` costs no more than a B unless it could turn that answer; one that could leaves a C at
best.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from statistics import median
from typing import NamedTuple, TypeVar, cast

from weft.analyse import checks
from weft.analyse.checks import SHARED_HOST, below_floor, make_finding, place, self_checks
from weft.analyse.floor import Floor
from weft.analyse.statistics.interval import MODELLED, NO_INTERVAL, RANGES, interval_over_launches
from weft.analyse.tables.answers import FindingRow, VerdictRow
from weft.analyse.tables.claims import Doubt, Grade, QualityRow, Rule
from weft.analyse.tables.pairs import ClassRow, class_text
from weft.analyse.tables.times import CallRow, MedianRow, TimedRow, is_refuted, reach, timed
from weft.fabric.model import Fabric
from weft.fabric.nodeset import fold_for_people
from weft.fabric.numbers import fitted_numbers, leave_out_error
from weft.format import plural
from weft.host import parse_cpus
from weft.plan.records import Plan
from weft.store.folder import DISTURBS, Look
from weft.store.rows import RANK_TABLE, MeasuredRow, RankRow
from weft.store.tables import grouped, read_table

#: The doubts behind the rules of findings.
OF_RULE: Mapping[str, Doubt] = {
    "self-check": "wrong", "below-floor": "floor", "swap": "swap", "steal": "steal", "shared-core": "core",
    "shared-host": "host", "kernel": "kernel",
}  # fmt: skip
Launches = Mapping[int, MedianRow]
#: Launches of a row disagree if their medians differ by more than this factor. Beyond `TWICE` a share of the rows is
#: enough for C and D; of launches that differ ten- or a hundredfold, one row is.
DISAGREE, TWICE, TENFOLD, HUNDREDFOLD = 1.25, 2.0, 10.0, 100.0
TWICE_C, TWICE_D = 0.1, 0.5
NEVER = float("inf")
#: What a verdict's own interval counts, what its points are free of, and what can only have lengthened them.
WEIGHED: frozenset[Doubt] = frozenset(
    {"launches", "precision", "floor", "oversubscribed", "steal", "swap", "core", "load", "lost"}
)
Item = TypeVar("Item")
#: The order is that of gravity between doubts of the same grade. Load is a hint: what was lost during samples decides.
RULES: dict[Doubt, Rule] = {
    "wrong": Rule(0, 0, 0.1), "failed": Rule(0, 0.5, 0.9), "bound": Rule(0, 0.1, 0.5), "model": Rule(0, 0, NEVER),
    "latency": Rule(0, 0, NEVER), "launches": Rule(0, 0.5, NEVER), "floor": Rule(0, 0.1, 0.5),
    "steal": Rule(0, 0.1, 0.5), "swap": Rule(0, 0.1, 0.5), "core": Rule(0, 0.1, 0.5), "host": Rule(0, 0.1, 0.5),
    "lost": Rule(0, 0.5, NEVER), "oversubscribed": Rule(0, 0.5, 1), "load": Rule(DISTURBS, NEVER, NEVER),
    "precision": Rule(0, NEVER, NEVER), "kernel": Rule(0, 0.5, NEVER), "fitted": Rule(0, NEVER, NEVER),
    "trace": Rule(0, NEVER, NEVER),
}  # fmt: skip
#: Statuses that are no failures: what does not fit is a result, and what is planned comes later.
RESULTS = frozenset({"ok", "memory", "fabric", "bound", "planned"})


class Against(NamedTuple):
    """What a run says against the warm times of a call of a cell. ``keeps`` is how much of the interval's lower end
    surely remains, from 0 to 1, if the launches' medians are as long as they would have been without the disturbance;
    None where the number says nothing at all.
    """

    doubt: Doubt
    what: str
    keeps: float | None


def doubts(
    rows: Sequence[CallRow], medians: Iterable[MedianRow], measured: Iterable[MeasuredRow], floor: Floor
) -> dict[str, list[Against]]:
    """What is said against each cell's warm times, if anything: no wide interval, nor a bound that a sample beat."""
    cells, by_call = grouped(measured, lambda row: row["cell"]), by_launch(medians)
    found: dict[str, list[Against]] = {}
    for row in timed(rows, phase="warm"):
        launches = by_call.get((row["cell"], row["call"]), {})
        own = [_against(each, None) for each in (*self_checks([row]), *below_floor([row], floor))]
        own += _of_machine(row, launches, cells.get(row["cell"], []))
        kept = _kept(row, (each["least_s"] for each in launches.values()))
        if row["disturbed"] and kept < 1:
            own.append(Against("lost", f"{place(row)}: {checks.lost_in_words(row)}", kept))
        found.setdefault(row["cell"], []).extend(own)
    return {cell: own for cell, own in found.items() if own}


def by_launch(medians: Iterable[MedianRow]) -> dict[tuple[str, str], dict[int, MedianRow]]:
    """The warm medians of each call of a cell, by launch."""
    warm = grouped((row for row in medians if row["phase"] == "warm"), lambda row: (row["cell"], row["call"]))
    return {call: {row["launch"]: row for row in rows} for call, rows in warm.items()}


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
    own.sort(key=lambda row: row["samples"] / row["launches"])
    return [
        make_finding(
            "few", place(row), "warning" if row["samples"] < fewest else "note", fewest=fewest,
            samples=plural(row["samples"], "sample"), launches=plural(row["launches"], "launch"),
        )
        for row in own
        if row["samples"] < fewest * row["launches"]
    ]  # fmt: skip


def few_of_pairs(classes: Sequence[ClassRow], launches: int, fewest: int) -> list[FindingRow]:
    """Hop classes whose pairs have fewer than ``fewest`` samples a launch, those with fewest first."""
    findings: list[FindingRow] = []
    for row in sorted(classes, key=lambda row: row["samples"] / max(row["pairs"], 1)):
        each = row["samples"] / max(row["pairs"], 1)
        if row["samples"] and each < fewest * launches:
            level = "warning" if each < fewest else "note"
            samples = f"{each:.2g} sample{'s' * (each != 1)} of a pair"
            counts = {"samples": samples, "launches": plural(launches, "launch")}
            findings.append(make_finding("few", class_text(row), level, **counts, fewest=fewest))
    return findings


def find_crowded_hosts(ranks: Iterable[RankRow]) -> list[FindingRow]:
    """A note if ranks on several virtual hosts are more than the processors that they may all use."""
    launches = grouped(ranks, lambda row: row["launch_id"])
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
    # of a million ranks those that differ
    hosts = grouped(cast(list[RankRow], table.to_pylist()), lambda row: row["launch_id"])
    warnings: dict[str, list[str]] = {}
    for name, nodes in several.items():
        known = sorted(filter(None, (row["host"] for row in hosts.get(name, ()))))
        if known and len(known) < nodes:
            ran = f"{nodes} nodes ran on {plural(len(known), 'host')}, {fold_for_people(known)}"
            warnings[name] = [f"{SHARED_HOST}: {ran}"]
    return [{**row, "warnings": [*(row["warnings"] or []), *warnings.get(row["launch_id"], [])]} for row in rows]


def quality(
    rows: Sequence[CallRow],
    measured: Sequence[MeasuredRow],
    floor: Floor,
    precision: float,
    looks: Sequence[Look] = (),
    *,
    medians: Iterable[MedianRow] = (),
    answer: VerdictRow | None = None,
    modelled: bool = False,
    crowded: frozenset[str] = frozenset(),
    stands: frozenset[Doubt] = frozenset(),
    fabric: Fabric | None = None,
    inherited: Sequence[tuple[Grade, str]] = (),
    latency: float | None = None,
) -> list[QualityRow]:
    """The doubts about a run, most severe first; a model has none of those that only a machine can raise."""
    warm = timed(rows, phase="warm")
    fair = [row for row in warm if row["cell"] not in crowded]
    lost = [row for row in rows if row["phase"] in ("warm", "")]
    found = [
        _counted("wrong", lambda row: any(each["level"] == "error" for each in self_checks([row])), fair),
        _counted("bound", is_refuted, fair),
        _counted("floor", lambda row: bool(below_floor([row], floor)), fair),
        _counted("oversubscribed", lambda row: row["cell"] in crowded, warm),
        _counted("failed", lambda row: row["status"] not in RESULTS, lost),
    ]
    if not modelled:
        found += _that_machines_leave(fair, [row for row in measured if row["cell"] not in crowded], precision, medians)
    elif fabric is not None:
        found.append(doubt_model(fabric))
    if looks and not modelled:
        found.append(_doubt("load", round(100 * max(look.share for look in looks)), 100, "% of the cores"))
    if latency is not None and (row := _doubt("latency", 1, 1, "fabric file")):
        found.append({**row, "worst": latency})
    if inherited and (row := _doubt("trace", len(inherited), len(inherited), max(inherited)[1])):
        found.append({**row, "grade": max(inherited)[0]})
    weighed = _weighed([row for row in found if row is not None], answer, stands)
    return sorted(weighed, key=lambda row: (-ord(row["grade"]), list(RULES).index(row["doubt"])))


def _weighed(found: Sequence[QualityRow], answer: VerdictRow | None, stands: frozenset[Doubt]) -> list[QualityRow]:
    """Doubts by what they could do to the answer of a run, if a verdict gives it, or what `stands` against them."""
    if answer is None:
        return [{**row, "grade": min(row["grade"], "B") if row["doubt"] in stands else row["grade"]} for row in found]
    weighed: list[QualityRow] = [
        {**row, "grade": min(row["grade"], "B") if row["doubt"] in WEIGHED else row["grade"]}
        for row in found
        if row["doubt"] not in answer["doubts"]
    ]
    by_kind = {row["doubt"]: row for row in found}
    for doubt in answer["doubts"]:
        one = QualityRow(doubt=doubt, grade="C", count=1, of=2, share=0.5, noun="", worst=None, launches=None, turns="")
        row = by_kind.get(doubt, one)
        weighed.append({**row, "grade": max(row["grade"], "C"), "turns": answer["doubt"]})
    return weighed


def _that_machines_leave(
    warm: Sequence[TimedRow], cells: Sequence[MeasuredRow], precision: float, medians: Iterable[MedianRow]
) -> list[QualityRow | None]:
    """The doubts about rows that only a machine leaves, and those that it recorded about a cell in one launch."""
    launches = by_launch(medians)

    def lost(row: TimedRow) -> bool:
        """Whether the median may be shorter by more than was asked without what its samples lost."""
        least = [each["least_s"] for each in launches.get((row["cell"], row["call"]), {}).values()]
        if not least:
            return row["disturbed"] > checks.DISTURBED_ROWS * row["samples"]
        return median(least) < (1 - precision) * row["median_s"]

    by_rule: dict[Doubt, Callable[[MeasuredRow], bool]] = {
        # steal moves a median by twice its share at most (weft.analyse.doubts)
        "steal": lambda row: 2 * checks.share_of_steal(row) > precision,
        "swap": lambda row: bool(checks.swapped_pages(row)),
        "core": lambda row: "core" in _warned_of(row),
        "host": lambda row: "host" in _warned_of(row),
        "kernel": lambda row: "kernel" in _warned_of(row),
    }
    return [
        _counted("lost", lost, warm),
        _counted("precision", lambda row: checks.half_width(row) > precision, warm),
        _launches(warm),
        *(_counted(doubt, touched, cells, "cells and launches") for doubt, touched in by_rule.items()),
    ]


def _warned_of(row: MeasuredRow) -> set[Doubt]:
    return {OF_RULE[checks.recorded_warning("", text)["rule"]] for text in row["warnings"] or []}


def _counted(
    doubt: Doubt, touched: Callable[[Item], bool], rows: Sequence[Item], noun: str = "rows"
) -> QualityRow | None:
    return _doubt(doubt, sum(map(touched, rows)), len(rows), noun)


def _doubt(doubt: Doubt, count: int, of: int, noun: str) -> QualityRow | None:
    """A doubt by the share of what it touches; None where it touches too little."""
    share = count / of if of else 0.0
    row = QualityRow(
        doubt=doubt, grade=RULES[doubt].grade(share), count=count, of=of, share=share, noun=noun, worst=None,
        launches=None, turns="",
    )  # fmt: skip
    return row if row["grade"] > "A" else None


def doubt_model(fabric: Fabric) -> QualityRow | None:
    """A model is no better than the numbers that were fitted to its machine."""
    fitted = fitted_numbers(fabric)
    row = _doubt("fitted" if fitted else "model", 1, 1, "fabric file")
    if row is not None and fitted:
        row["worst"] = leave_out_error(fabric)
    return row


def _launches(warm: Sequence[TimedRow]) -> QualityRow | None:
    apart = [row["launch_high_s"] / row["launch_low_s"] for row in warm if row["launch_low_s"]]
    found = _counted("launches", lambda factor: factor > DISAGREE, apart)
    if found is None:
        return None
    most, share = max(apart), sum(factor > TWICE for factor in apart) / len(apart)
    least: Grade = "C" if most >= TENFOLD or share >= TWICE_C else "B"
    found["grade"] = max(found["grade"], "D" if most >= HUNDREDFOLD or share >= TWICE_D else least)
    found["worst"], found["launches"] = most, checks.more_launches(max(row["launches"] for row in warm))
    return found
