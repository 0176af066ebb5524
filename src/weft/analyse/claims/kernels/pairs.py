# SPDX-License-Identifier: BSD-3-Clause
"""Which node, cable, switch or pair is slow, of all pairs or of a check's rounds; and what a pair takes otherwise."""

from collections.abc import Sequence, Set
from functools import partial
from typing import Any

import numpy as np

from weft.analyse.claims.make import Known
from weft.analyse.claims.nodes import SLOWING, find_node_facts, find_node_faults
from weft.analyse.outliers.matched import FULL, Pass, Rounds, fullest, matched_rounds, plan_messages, read_ranks
from weft.analyse.outliers.rule import LEAST_FACTOR
from weft.analyse.pairs.places import Places, locate_ranks
from weft.analyse.tables import pairs as tables
from weft.analyse.tables.claims import INCONCLUSIVE, ClaimRow, extras, make_claim
from weft.fabric.kinds import KINDS
from weft.fabric.network.build import build_network
from weft.fabric.nodeset import fold
from weft.kernel.sizes import window_of
from weft.plan.trials import CHECK_SHARE
from weft.store.rows import SEGMENT_TABLE
from weft.store.tables import grouped

REMEDIES = {
    "node": "check its adapter and cable (ibstat, perfquery, ethtool -S) and other load on it; "
    "placement.nodes in the study can leave it out",
    "memory": "compare its memory and processor frequency with its neighbours' (dmidecode, cpupower)",
    "link": "read the counters of both its ports (perfquery, ethtool -S) and swap the cable",
    "cable": "read the counters of both its ports (perfquery, ethtool -S) and swap the cable",
    "switch": "read its counters and temperature; all slow pairs cross it",
    "leaves": "check the routes between the two (weft fabric show) and the cables that they share",
    "route": "check the route between the two (weft fabric show)",
    "rank": "check what else runs on its core",
    "pair": "measure it again; check what only these two nodes share",
    "class": "pin the ranks another way, or measure with one rank on each socket, and see whether the groups follow",
}
#: Nodes are counted within the first of these shares of their class that holds 19 of 20.
SHARES = (0.02, 0.04, 0.06, 0.08, 0.10, 0.15, 0.20, 0.30, 0.50)
FAR = SHARES[-2]  # if more than one node in twenty is farther off, smaller faults cannot be excluded


def find_claims(known: Known) -> list[ClaimRow]:
    """The outliers that stand, the strongest first; else that there is none, or that those seen are in doubt."""
    if matched_rounds(known.plan):
        return claim_matched(known)
    every = tables.NAMES.read(known.path)
    if not every:
        return [make_claim("pairs.unmeasured", "answer")]
    names = tables.largest(every, every)
    table = tables.CLASSES.read(known.path)
    outliers = tables.largest(tables.OUTLIERS.read(known.path), every)
    rates = any("window" in cell.parameters for cell in known.plan.measured)
    size, mode, own = shown_classes(tables.largest(table, every), rates=rates)
    window = max((window_of(cell.parameters, size) for cell in known.plan.measured), default=1)
    counted: dict[str, Any] = {
        "pairs": sum(row["pairs"] for row in own), "nodes": len(names), "ranks": sum(row["on_node"] for row in names)
    }  # fmt: skip
    sure = [(index, row) for index, row in enumerate(outliers) if not row["doubted"]]
    found: list[ClaimRow] = [_outlier(index, row, counted) for index, row in sure]
    if not sure and outliers:
        found = [{**_outlier(0, outliers[0], counted), "id": f"pairs.{INCONCLUSIVE}", "confidence": "C"}]
    if not outliers:
        worst = tables.largest(tables.WORST.read(known.path), every)
        far = (row for row in worst if row["factor"] >= tables.PAIR_FACTOR)
        over = (row["factor"] for row in far if row["time_s"] * (1 - 1 / row["factor"]) >= tables.LEAST_SHOWN_S)
        # slow pairs of their class at the shown size tell that pairs differ nevertheless
        more: dict[str, Any] = {"slow": sum(row["slow"] or 0 for row in own), "bytes": size, "mode": mode, **counted}
        found = [make_claim("pairs.no-outlier", "answer", "", next(over, None), "factor", **more)]
    found += [
        make_claim(
            f"latency.{row['hops']}-hops", "breakdown", row["class"], row["median_s"], "seconds",
            evidence=[f"pair_classes:{table.index(row)}"], bytes=row["bytes"], mode=row["mode"], pairs=row["pairs"],
            hops=row["hops"], window=window if rates else None,
        )
        for row in own
    ]  # fmt: skip
    if sure:
        kind = sure[0][1]["kind"]
        found.append(make_claim(f"remedy.check-{kind}", "remedy", REMEDIES[kind], confidence="B"))
    return found


def shown_classes(classes: Sequence[tables.ClassRow], *, rates: bool) -> tuple[int, str, list[tables.ClassRow]]:
    """Smallest size (largest of ``rates``), the mode with most pairs of it, and its hop classes, nearest first."""
    ways = grouped(classes, lambda row: (row["bytes"], row["mode"]))
    if not ways:
        return 0, "", []
    shown = (max if rates else min)(size for size, _ in ways)
    pairs = {way: sum(row["pairs"] for row in own) for way, own in ways.items() if way[0] == shown}
    size, mode = max(pairs, key=lambda way: (pairs[way], {"isolated": 2, "node": 1}.get(way[1], 0)))
    return size, mode, ways[size, mode]


def _outlier(index: int, row: tables.OutlierRow, counted: dict[str, Any]) -> ClaimRow:
    worst = _worst(row)
    return make_claim(
        f"outlier.{row['kind']}", "answer", row["name"], worst["factor"], "factor", confidence="B",
        evidence=[f"pair_outliers:{index}"], bytes=worst["bytes"], mode=worst["mode"], role=row["role"],
        affected=row["pairs"], also=row["also"], detail=row["detail"], ways=len(row["sightings"]), **counted,
    )  # fmt: skip


def claim_matched(known: Known) -> list[ClaimRow]:
    """The slow parts, the strongest first; else that the machine is healthy, or that those seen are in doubt."""
    every = tables.NAMES.read(known.path)
    why = next((row["what"] for row in known.findings if row["rule"] == "failed"), "")
    unknown = partial(make_claim, f"check.{INCONCLUSIVE}", "answer", why=why)
    if not every:
        return [unknown(next=_pairs(known))]
    outliers = tables.largest(tables.OUTLIERS.read(known.path), every)
    counted = _counted(known, every)
    sure = [(index, row) for index, row in enumerate(outliers) if not row["doubted"]]
    sure.sort(key=lambda each: -_worst(each[1])["factor"])
    places, rounds = locate_ranks(read_ranks(known.path), known.plan), matched_rounds(known.plan)
    cables = _cables(places, rounds[: counted["rounds"]])
    leaves = [row["leaf"] for row in every if row["leaf"]]  # that the run's own times show
    faults, facts = find_node_faults(known), find_node_facts(known)
    if leaves:
        facts.append(make_claim("start.leaves", "breakdown", "", len(set(leaves)), "count", nodes=len(leaves)))
    facts += cables
    # what a host does to itself, its messages only show
    own = {each["subject"] for each in faults if extras(each)["of"] in SLOWING}
    sure = [
        each for each in sure if each[1]["kind"] == "node" or not is_shown_by(each[1]["name"], each[1]["also"], own)
    ]
    slow = [(row["kind"] == "node" and row["name"] in own, _slow(index, row, "also", counted)) for index, row in sure]
    found = [*(row for behind, row in slow if not behind), *faults, *(row for behind, row in slow if behind)]
    if found:
        first: ClaimRow = {**found[0], "id": "check.not-healthy"}
        return [first, *found[1:], *facts, _next_step(known, [row for _, row in sure], faults)]
    if outliers:
        return [{**_slow(0, outliers[0], INCONCLUSIVE, counted), "confidence": "C", "next": _pairs(known)}, *facts]
    over = 2 * counted["rounds"] < counted["of_rounds"]  # their time was over: nothing seen is not nothing there
    wide = counted["within"] >= SHARES[-1]  # nodes that differ as much tell of no smaller fault
    lone = None if over or wide else _count_lone(places, rounds) or None
    if not (over or wide or lone):
        return [make_claim("check.healthy", "answer", **counted), *facts]
    following = _pairs(known) if not over else "" if why else _longer(known)
    return [unknown(confidence="C", next=following, **counted, lone=lone), *facts]


def is_shown_by(name: str, also: Sequence[str], hosts: Set[str]) -> bool:
    """Whether a slow part is one of some hosts, or cannot be distinguished from one."""
    return name in hosts or any(f"node {each}" in also for each in hosts)


def _count_lone(places: Places, rounds: Sequence[Sequence[Sequence[int]]]) -> int:
    """How many nodes nothing is compared with: no class that one of them meets has a pair of others."""
    met = places.node_of[np.array([pair for each in rounds for pair in each], np.int64).reshape(-1, 2)]
    met = np.unique(np.sort(met[met[:, 0] != met[:, 1]], axis=1), axis=0)
    of = places.classes[met[:, 0], met[:, 1]]
    own = np.zeros((len(places.nodes), len(places.labels)), np.int64)
    np.add.at(own, (met, of[:, None]), 1)
    return int(np.sum(own.any(axis=1) & ~((own > 0) & (own < np.bincount(of, minlength=own.shape[1]))).any(axis=1)))


def _cables(places: Places, rounds: Rounds) -> list[ClaimRow]:
    """Cables that the rounds crossed, and the factor from which on all show: one faster than nodes has a reserve."""
    if not places.routed or not rounds:
        return []
    routed = np.unique(places.network.forward[places.network.forward >= 0])
    cables = np.unique(routed[places.network.switch_links[routed]] // 2)  # a dragonfly has spare ones
    filled = fullest(plan_messages([Pass(rounds, ())], places), places).reshape(-1, 2)[cables]
    both: list[list[float]] = filled.tolist()
    crossed = [share for ways in both if (share := min(ways) or max(ways)) > 0]  # some are crossed one way alone
    least = min(crossed, default=1.0)
    if len(crossed) == len(cables) and least >= FULL:
        return []
    reserve = sum(share < FULL for share in crossed)
    return [make_claim("start.cables", "breakdown", "", len(cables), "count", crossed=len(crossed), reserve=reserve,
                       filled=least, shown=LEAST_FACTOR / least)]  # fmt: skip


def _worst(row: tables.OutlierRow) -> Any:
    return max(row["sightings"], key=lambda seen: seen["factor"])


def _slow(index: int, row: tables.OutlierRow, name: str, counted: dict[str, Any]) -> ClaimRow:
    worst = _worst(row)
    return make_claim(
        f"check.{name}", "answer", row["name"], worst["factor"], "factor", (worst["low"], worst["high"]),
        coverage=0.95, confidence="B", evidence=[f"pair_outliers:{index}"], of=row["kind"], role=row["role"],
        bytes=worst["bytes"], affected=row["pairs"], also=row["also"], **counted,
    )  # fmt: skip


def _next_step(known: Known, rows: Sequence[tables.OutlierRow], faults: Sequence[ClaimRow]) -> ClaimRow:
    nodes = {row["name"] for row in rows if row["kind"] == "node"} | {each["subject"] for each in faults}
    names = {row["name"] for row in tables.NAMES.read(known.path)}
    nodes |= {each.removeprefix("node ") for row in rows for each in row["also"] if each.removeprefix("node ") in names}
    nodes |= _behind(known, {row["name"] for row in rows if row["kind"] == "switch"}) & names
    parts = [row for row in rows if row["kind"] != "node"]
    listed = sorted(nodes) if 2 * len(nodes) <= len(names) else []  # no job is left without most of them
    exclude = KINDS[known.plan.fabric_kind].exclude.format(nodes=fold(listed)) if listed else ""
    name, of = (parts[0]["name"], parts[0]["kind"]) if parts else ("", "")
    if faults and not parts:
        name, of = faults[0]["subject"], extras(faults[0])["of"]
    return make_claim("check.next", "remedy", name, confidence="B", of=of, next=exclude, exclude=listed)


def _behind(known: Known, switches: Set[str]) -> set[str]:
    """Nodes on slow leaf switches; none where the fabric's switches are not known."""
    fabric = known.plan.planned_fabric
    if not switches or fabric.network is None:
        return set()
    network = build_network(fabric)
    leaves: list[int] = network.leaf.tolist()
    return {name for name, leaf in zip(network.hosts, leaves, strict=True) if network.switches[leaf].name in switches}


def _pairs(known: Known) -> str:
    """The command that shows the full picture."""
    study = known.again().replace(f"weft run {known.plan.study}", "weft run pairs")
    return study.replace("{run}/study.toml", "pairs").replace(" --into {run}", "")


def _longer(known: Known) -> str:
    """The check with twice its time; for a study of one's own the full picture."""
    if known.plan.study != "check":
        return _pairs(known)
    rounds, sizes = len(matched_rounds(known.plan)), len(known.plan.measured[0].parameters["bytes"])
    return known.longer("check", known.plan.measure.budget * rounds * sizes / CHECK_SHARE)


def _counted(known: Known, every: Sequence[tables.NameRow]) -> dict[str, Any]:
    names = tables.largest(every, every)
    rows = tables.largest(tables.NODES.read(known.path), every)
    size = max((row["bytes"] for row in rows), default=0)
    off = [abs(row["factor"] - 1) for row in rows if row["bytes"] == size and row["factor"] is not None]
    within = next((share for share in SHARES if sum(each <= share for each in off) >= 0.95 * len(off)), SHARES[-1])
    return {
        "nodes": len(names), "within": within, "close": sum(each <= within for each in off),
        "far": sum(each > FAR for each in off), "far_share": FAR, "of_rounds": len(matched_rounds(known.plan)),
        "rounds": len({row["op"] for row in SEGMENT_TABLE.read(known.path) if row["op"].startswith("partner.")}),
    }  # fmt: skip


def slow_nodes(claims: Sequence[ClaimRow]) -> list[str]:
    """Names of the nodes that the next job should leave out."""
    return [name for each in claims if each["id"] == "check.next" for name in extras(each).get("exclude", ())]
