# SPDX-License-Identifier: BSD-3-Clause
"""How much slower calls are beside another job: measured, by the cables that both use, and what is claimed of it."""

import json
import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from statistics import median
from typing import Any, Literal

from weft.analyse.claims.make import Known
from weft.analyse.doubts import by_launch
from weft.analyse.statistics import interval
from weft.analyse.tables.answers import FEWEST_LAUNCHES, IMPACTS, MATTERS, ImpactRow
from weft.analyse.tables.claims import INCONCLUSIVE, ClaimKind, ClaimRow, make_claim
from weft.analyse.tables.times import MedianRow
from weft.bound.shared import MOST_MESSAGES, Shared, share_links
from weft.errors import FabricError
from weft.fabric.model import Fabric
from weft.kernel.jobs import Jobs, count_pairs, node_of, read_word
from weft.kernel.registry import kernel_named
from weft.plan.records import Cell, Plan
from weft.plan.rounds import placement_of
from weft.store.links import LinkCount, job_key, links_file, read_cell_links
from weft.store.rows import LAUNCH_TABLE

Pairs = list[tuple[MedianRow, MedianRow]]  # alone, and beside traffic, in a launch
USED = 0.1  # of the bytes on its fullest link: what a job sends over a link that it uses, acknowledgements are less
Counts = Mapping[str, Mapping[str, Sequence[LinkCount]]]  # by `job_key`, then by launch


def impact_rows(
    medians: Iterable[MedianRow], cells: Mapping[str, Cell], fabric: Fabric, counts: Counts
) -> list[ImpactRow]:
    """A row for each kind of traffic beside each cell's call; ``counts``: of the links, while a job ran by itself."""
    found, rows = by_launch(medians), list[ImpactRow]()
    for name, cell in cells.items():
        jobs = kernel_named(cell.kernel).jobs(cell.parameters, cell.ranks)
        if jobs is None:
            continue
        alone = found.get((name, jobs.alone), {})
        for word, call in jobs.beside_calls.items():
            beside = found.get((name, call), {})
            if pairs := [(alone[launch], row) for launch, row in beside.items() if launch in alone]:
                rows.append(_row(cell, jobs, word, pairs, fabric, counts))
    known = [(row, row["chance"]) for row in rows if row["chance"] is not None]
    for (row, _), chance in zip(known, interval.adjust_by_holm([chance for _, chance in known]), strict=True):
        row["chance"] = chance
    return rows


def count_jobs(root: Path, plan: Plan) -> Counts:
    """Link counters of jobs that ran alone, by launch, counted in one cell of a place; DataError: another format."""
    found: dict[str, dict[str, list[LinkCount]]] = {}
    cells = [cell for cell in plan.measured if cell.parameters.get("counted")]
    for launch in plan.launches if cells else ():
        path = links_file(root, launch.id)
        for key, counts in (read_cell_links(path, "jobs") if path.is_file() else {}).items():
            found.setdefault(key, {})[launch.id] = counts
    both = [(cell, (placement_of(cell), tuple(cell.parameters["beside"]))) for cell in cells]
    shown = {place: cell.id for cell, place in both if cell.parameters["counted"] > 1}
    for cell, place in both:
        for word in cell.parameters["traffic"] if place in shown else ():
            found.setdefault(job_key(cell.id, word), found.get(job_key(shown[place], word), {}))
    return found


def find_counted(own: Mapping[str, Sequence[LinkCount]], beside: Mapping[str, Sequence[LinkCount]]) -> Shared | None:
    """The fullest link that both jobs used by themselves, in most launches that counted both; None without any."""
    links = Counter(_fullest(own[launch], beside[launch]) for launch in own if launch in beside)
    return Shared(links.most_common(1)[0][0], None) if links else None


def _fullest(own: Sequence[LinkCount], beside: Sequence[LinkCount]) -> str:
    least = [USED * max((each.bytes for each in counts), default=0) for counts in (own, beside)]
    theirs = {(each.link, each.source): each for each in beside}
    pairs = ((each, theirs[each.link, each.source]) for each in own if (each.link, each.source) in theirs)
    both = [
        ((each.bytes + other.bytes) / (each.rate or 1.0), f"{each.source} -> {each.target}")
        for each, other in pairs
        if each.bytes > least[0] and other.bytes > least[1]
    ]
    return max(both, default=(0.0, ""))[1]


def _row(cell: Cell, jobs: Jobs, word: str, pairs: Pairs, fabric: Fabric, counts: Counts) -> ImpactRow:
    aggressor, percent = read_word(word)
    shared = find_shared(cell, jobs, word, fabric) or find_counted(
        *(counts.get(job_key(cell.id, job), {}) for job in (jobs.alone, word))
    )
    factor, middle = _ratio(pairs, "median_s", fabric)
    (p95, tail), (p99, far) = (_ratio([] if fabric.is_model else pairs, each, fabric) for each in ("p95_s", "p99_s"))
    assert factor is not None
    # P that calls beside traffic are at most so much slower that it does not matter
    logs = [math.log(beside["median_s"] / alone["median_s"]) for alone, beside in pairs if alone["median_s"]]
    judged = len(logs) > 1 and not fabric.is_model
    chance = interval.paired_test(interval.trimmed_mean(logs), math.log(MATTERS)) if judged else None
    return ImpactRow(
        cell=cell.id, call=pairs[0][1]["call"], victim=jobs.victim, aggressor=aggressor, percent=percent,
        place=jobs.place, bytes=cell.block_bytes, nodes=cell.nodes, ranks=cell.ranks,
        beside_nodes=len({_host(cell, rank) for rank in jobs.beside}), launches=len(pairs),
        alone_s=median(one["median_s"] for one, _ in pairs), beside_s=median(other["median_s"] for _, other in pairs),
        factor=factor, low=middle.low, high=middle.high, coverage=middle.coverage, chance=chance,
        p95=p95, p95_low=tail.low, p95_high=tail.high, p99=p99, p99_low=far.low, p99_high=far.high,
        link=shared.link if shared else None,
        predicted=shared.factor if shared and (jobs.at_once or not shared.link) else None,
    )  # fmt: skip


def _ratio(
    pairs: Pairs, quantile: Literal["median_s", "p95_s", "p99_s"], fabric: Fabric
) -> tuple[float | None, interval.Interval]:
    """The ratio of a quantile beside traffic to that alone, one a launch; None where no launch has it."""
    times = [(one[quantile], other[quantile]) for one, other in pairs]
    ratios = [beside / alone for alone, beside in times if alone and beside]
    if not ratios or fabric.is_model:
        return median(ratios) if ratios else None, interval.NO_INTERVAL
    one, other = pairs[0]
    within = interval.Interval(other["low_s"] / one["high_s"], other["high_s"] / one["low_s"], one["coverage"], "none")
    own = within if quantile == "median_s" else interval.NO_INTERVAL
    return median(ratios), interval.interval_over_launches(ratios, own)


def _host(cell: Cell, rank: int) -> str:
    job = cell.launched
    place = node_of(rank, job.nodes, job.ranks_per_node, cell.order)
    return job.hosts[place] if job.hosts else str(place)


def find_shared(cell: Cell, jobs: Jobs, word: str, fabric: Fabric) -> Shared | None:
    """What a cell's call shares with one kind of traffic; None where routes or rates are not known, or hosts shared."""
    hosts = [{_host(cell, rank) for rank in ranks} for ranks in (jobs.measuring, jobs.beside)]
    messages = count_pairs(jobs.victim, len(jobs.measuring)) + count_pairs(read_word(word)[0], len(jobs.beside))
    if fabric.network is None or messages > MOST_MESSAGES or hosts[0] & hosts[1]:
        return None
    both = (jobs.pairs, jobs.pairs_beside(word))
    own, beside = ([(_host(cell, a), _host(cell, b)) for a, b in pairs] for pairs in both)
    try:
        return share_links(own, beside, read_word(word)[1], fabric, jobs.depths(word))
    except FabricError:  # a run folder does not contain the dump
        return None


REPEATED = (
    "aggressor", "percent", "place", "bytes", "nodes", "beside_nodes", "launches", "link", "predicted", "p95",
    "p95_low", "p95_high", "p99", "p99_low", "p99_high",
)  # fmt: skip
WINDOWS = ("btl_tcp_rcvbuf", "OMPI_MCA_btl_tcp_rcvbuf")  # settings of Open MPI: bytes of a receive window, 0 for any
MOST_CHECKED = 98_304  # bytes: the largest window with which predictions were held against measurements


def find_claims(known: Known) -> list[ClaimRow]:
    """The worst impact and its cable, the same call where no cable is shared, and what to ask for."""
    rows = IMPACTS.read(known.path)
    if not rows:
        return [make_claim("interference.untimed", "answer")]
    worst = max(rows, key=lambda row: (_is_slowed(row), row["factor"]))
    launches = min(row["launches"] for row in rows)
    if launches < FEWEST_LAUNCHES and not known.plan.is_model:
        again = known.again("--launches", str(FEWEST_LAUNCHES))
        return [_impact(rows, worst, INCONCLUSIVE, "answer", next=again, confidence="C"), *_shared(known, rows, worst)]
    if _is_slowed(worst):
        answer = _impact(rows, worst, "slowed", "answer")
        return [answer, *_shared(known, rows, worst), *_remedy(known, rows, worst)]
    widest = max(rows, key=_most)
    missing, wide = sum(row["status"] != "ok" for row in known.rows), _most(widest) > MATTERS
    if not (wide or missing):
        return [_impact(rows, worst, "clear", "answer"), *_shared(known, rows, worst)]
    again = known.again("--launches", str(2 * launches))
    answer = _impact(rows, widest, INCONCLUSIVE, "answer", next=again, missing=missing, wide=wide)
    return [answer, *_shared(known, rows, widest)]


def _is_slowed(row: ImpactRow) -> bool:
    """Whether the call is slower beside the traffic, beyond what is the worst of so many rows by chance."""
    return row["factor"] > MATTERS and (row["chance"] is None or row["chance"] <= interval.FAMILY)


def _most(row: ImpactRow) -> float:
    return row["factor"] if row["high"] is None else row["high"]


def _impact(rows: Sequence[ImpactRow], row: ImpactRow, name: str, kind: ClaimKind, **more: Any) -> ClaimRow:
    family = "interference" if kind == "answer" else "shared"
    return make_claim(
        f"{family}.{name}", kind, row["victim"], row["factor"], "factor", (row["low"], row["high"]),
        coverage=row["coverage"], at=row, evidence=[f"impacts:{rows.index(row)}"],
        shares=row["link"] != "", **{key: row[key] for key in REPEATED}, **more,  # pyrefly: ignore[bad-argument-type]
    )  # fmt: skip


def _shared(known: Known, rows: Sequence[ImpactRow], worst: ImpactRow) -> list[ClaimRow]:
    """The cable of the worst impact with its predicted factor, the tail, the strength it begins at, and the rest."""
    strengths = [row for row in rows if (row["cell"], row["aggressor"]) == (worst["cell"], worst["aggressor"])]
    begins = [row for row in strengths if _is_slowed(row) and len(strengths) > 1]
    of = {
        "link": worst if worst["link"] else None,
        "tail": worst if worst["p95"] is not None else None,
        "apart": _apart(rows, worst) if worst["link"] else None,
        "bend": min(begins, key=lambda row: row["percent"], default=None),
    }
    more: dict[str, Any] = {"strengths": [row["percent"] for row in strengths], "unchecked": _unchecked(known)}
    return [_impact(rows, row, name, "breakdown", **more) for name, row in of.items() if row]


def _unchecked(known: Known) -> str:
    """Why a prediction was never held against a measurement like this one; empty where it was."""
    if known.plan.is_model:
        return ""
    if not known.plan.planned_fabric.is_emulated:
        return "network"
    settings: list[dict[str, str]] = [json.loads(row["settings"]) for row in LAUNCH_TABLE.read(known.path)]
    windows = [next((each[name] for name in WINDOWS if name in each), "") for each in settings]
    bounded = [each.isdecimal() and 0 < int(each) <= MOST_CHECKED for each in windows]
    return "" if bounded and all(bounded) else "windows"


def _apart(rows: Sequence[ImpactRow], worst: ImpactRow) -> ImpactRow | None:
    """The worst of the same call beside the same traffic where as large jobs share no cable; None without any."""
    alike = ("victim", "aggressor", "percent", "bytes", "nodes", "ranks", "beside_nodes")
    same = [row for row in rows if row["link"] == "" and all(row[key] == worst[key] for key in alike)]
    return max(same, key=lambda row: row["factor"], default=None)


def _remedy(known: Known, rows: Sequence[ImpactRow], worst: ImpactRow) -> list[ClaimRow]:
    """Nodes that share no cable with the other job, if those were measured, too: found by `weft place`."""
    apart = _apart(rows, worst)
    least = worst["factor"] if worst["low"] is None else worst["low"]
    if not worst["link"] or apart is None or _most(apart) >= least:
        return []
    cell = known.plan.cell(worst["cell"])
    others = sorted(set(cell.launched.hosts) - set(cell.hosts))
    return [make_claim(
        "remedy.whole-leaves", "remedy", value=1 - apart["factor"] / worst["factor"], unit="share", at=worst,
        basis="measured", next=f"weft place {{run}}/fabric.toml --nodes {worst['nodes']} --beside {','.join(others)}",
    )]  # fmt: skip
