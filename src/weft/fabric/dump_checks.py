# SPDX-License-Identifier: BSD-3-Clause
"""Checks of a dump before a network is built from it."""

from collections import Counter, defaultdict

from weft.errors import FabricError
from weft.fabric.findings import Finding, finding, found
from weft.fabric.network.dumped import unrouted
from weft.fabric.network.tables import forward_of
from weft.fabric.readers.dump import TEXT, Dump, End, rate_of


def check_tables(dump: Dump) -> list[Finding]:
    """Findings about the tables of a dump; none if it has no tables."""
    if dump.tables is None:
        return []
    try:
        network = unrouted(dump)
        _, report = forward_of(network, dump.tables)
    except FabricError as error:
        return [finding("foreign-tables", what=error.what, remedy=error.remedy)]
    switch = [s.name for s in network.switches]
    host = network.hosts
    odd = [f"line {line}: {text}" for line, text in dump.tables.odd]
    odd += [""] * (dump.tables.odd_lines - len(odd))
    truncated = [f"{switch[s]} lacks {missing}" for s, missing in report.truncated]
    bare = [f"{switch[s]} port {port} ({entries} entries)" for s, port, entries in report.no_cable]
    return [
        *found("odd-lines", odd),
        *found("switch-without-table", [switch[s] for s in report.without_table]),
        *found("table-of-other-switch", report.foreign),
        *found("table-twice", report.repeated),
        *found("entries-missing", truncated),
        *found("port-without-cable", bare),
        *found("host-without-lid", [host[h] for h in report.without_lid]),
        *found("host-in-no-table", [host[h] for h in report.unknown_lids]),
    ]


def check_dump(dump: Dump) -> list[Finding]:
    """Findings about the switches, hosts and cables of a dump."""
    return [
        *_boxes(dump), *_lids(dump), *_ports(dump), *_far_ends(dump), *_speeds(dump), *_tolerated(dump),
        *check_tables(dump),
    ]  # fmt: skip


def _boxes(dump: Dump) -> list[Finding]:
    unknown = sorted({f"line {e.line}: {e.peer}" for e in dump.ends if e.peer not in dump.boxes})
    return [
        *found("unknown-cables", [] if dump.cables_known else [dump.format]),
        *found("device-twice", [f"line {line}: {key}" for line, key in dump.repeated]),
        *found("device-not-described", unknown),
        *found("aggregation-nodes", [box.key for box in dump.of_kind("aggregation")]),
        *found("routers", [box.key for box in dump.of_kind("router")]),
    ]


def _lids(dump: Dump) -> list[Finding]:
    owners: dict[int, list[str]] = defaultdict(list)
    for box in dump.boxes.values():
        for lid in set(box.lids):
            owners[lid].append(box.key)
    twice = [f"lid {lid}: {', '.join(keys[:3])}" for lid, keys in sorted(owners.items()) if len(keys) > 1 and lid]
    return [*found("lid-twice", twice), *found("lid-zero", owners.get(0, []))]


def _ports(dump: Dump) -> list[Finding]:
    by_port: dict[tuple[str, int], list[End]] = defaultdict(list)
    for end in dump.ends:
        by_port[end.key, end.port].append(end)
    double = [
        f"{key} port {port} (lines {ends[0].line}, {ends[1].line})"
        for (key, port), ends in by_port.items()
        if len(ends) > 1
    ]
    itself = [f"{e.key} port {e.port} (line {e.line})" for e in dump.ends if (e.key, e.port) == (e.peer, e.peer_port)]
    return [*found("port-twice", double), *found("loop", itself)]


def _far_ends(dump: Dump) -> list[Finding]:
    if not dump.both_ends:
        return []
    at = {(end.key, end.port): end for end in reversed(dump.ends)}
    missing, other, asymmetric = list[str](), list[str](), list[str]()
    for end in at.values():
        back = at.get((end.peer, end.peer_port))
        here = f"{end.key} port {end.port} (line {end.line})"
        if end.peer not in dump.boxes:
            continue
        if back is None:
            missing.append(f"{here} sees {end.peer} port {end.peer_port}, which reports nothing")
        elif (back.peer, back.peer_port) != (end.key, end.port):
            other.append(f"{here} sees {end.peer} port {end.peer_port}, which sees {back.peer} (line {back.line})")
        elif end.speed != back.speed and (end.key, end.port) < (end.peer, end.peer_port):
            asymmetric.append(f"{here} {end.speed or '?'}, line {back.line} {back.speed or '?'}")
    return [*found("one-end", missing), *found("other-end", other), *found("asymmetric-rate", asymmetric)]


def _speeds(dump: Dump) -> list[Finding]:
    unknown = Counter(end.speed for end in dump.ends if end.speed and end.rate != end.rate)
    known = ", ".join(sorted({m[2] for e in dump.ends if (m := TEXT.fullmatch(e.speed)) and rate_of(e.speed) > 0}))
    rated = [end for end in dump.ends if end.rate == end.rate]
    between = [e for e in rated if _is_switch(dump, e.key) and _is_switch(dump, e.peer)]
    hosts = {box.key for box in dump.of_kind("host")}
    return [
        *found("unknown-speed", [f"{s} ({n} times)" for s, n in unknown.items()], known=known or "none"),
        *_slower([e for e in between if (e.key, e.port) < (e.peer, e.peer_port)], "slow-switch-cable"),
        *_slower([end for end in rated if end.key in hosts], "slow-host-cable"),
    ]


def _slower(ends: list[End], id: str) -> list[Finding]:
    usual = Counter(end.rate for end in ends).most_common(1)
    slow = [f"{e.key} port {e.port} to {e.peer} (line {e.line}) {e.speed}" for e in ends if e.rate < usual[0][0]]
    return found(id, slow, usual=next((end.speed for end in ends if end.rate == usual[0][0]), ""))


def _tolerated(dump: Dump) -> list[Finding]:
    """Notes on what a network ignores of a real dump: links that are down, several LIDs on a port, ports that wait."""
    waiting = sorted(((c.waited_ticks, key, port) for (key, port), c in dump.counters.items()), reverse=True)
    sent = max((c.sent_bytes for c in dump.counters.values()), default=0)
    hot = [
        f"{key} port {port}: {ticks:,} ticks, {dump.counters[key, port].sent_bytes:,} B sent"
        for ticks, key, port in waiting
        if ticks and sent
    ]
    return [
        *found("link-down", [f"line {line}: {what}" for line, what in dump.down]),
        *found("several-lids", [f"{key}: LMC {lmc}" for key, lmc in dump.lmc.items() if lmc]),
        *found("waited-for-credits", hot),
    ]


def _is_switch(dump: Dump, key: str) -> bool:
    box = dump.boxes.get(key)
    return box is not None and box.kind == "switch"
