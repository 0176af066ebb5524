# SPDX-License-Identifier: BSD-3-Clause
"""Checks of a dump before a network is built from it."""

from collections import Counter, defaultdict

from weft.errors import FabricError
from weft.fabric.findings import Finding, found
from weft.fabric.network.dumped import unrouted
from weft.fabric.network.tables import forward_of
from weft.fabric.readers.dump import TEXT, Dump, End, rate_of

AGAIN = "dump tables and network again, at the same time"


def check_tables(dump: Dump) -> list[Finding]:
    """Findings about the tables of a dump; none if it has no tables."""
    if dump.tables is None:
        return []
    try:
        network = unrouted(dump)
        _, report = forward_of(network, dump.tables)
    except FabricError as error:
        return [Finding("error", error.what, "the tables do not match the network", error.remedy)]
    switch = [s.name for s in network.switches]
    host = network.hosts
    odd = [f"line {line}: {text}" for line, text in dump.tables.odd]
    odd += [""] * (dump.tables.odd_lines - len(odd))
    truncated = [f"{switch[s]} lacks {missing}" for s, missing in report.truncated]
    bare = [f"{switch[s]} port {port} ({entries} entries)" for s, port, entries in report.no_cable]
    cut = "the dump ended early, or a switch did not answer"
    return [
        *found(
            "warning", odd, "{n} line{s} of the tables cannot be interpreted", cut, "look at them; they are left out"
        ),
        *found("warning", [switch[s] for s in report.without_table], "{n} switch{es} without a table", cut, AGAIN),
        *found("warning", report.foreign, "{n} table{s} for switches not in the network", "dumps of two days", AGAIN),
        *found("warning", report.repeated, "{n} table{s} given twice", "two dumps in one file", "the last counts"),
        *found("warning", truncated, "{n} table{s} with entries missing", cut, AGAIN),
        *found(
            "error",
            bare,
            "{n} port{s} without a cable that routes lead to",
            "a link went down and the subnet manager has not swept since, or the dumps were taken at different times",
            "check the port, let the subnet manager sweep, dump again",
        ),
        *found("error", [host[h] for h in report.without_lid], "{n} host{s} without a LID", "not configured", AGAIN),
        *found("error", [host[h] for h in report.unknown_lids], "{n} host{s} that are in no table", cut, AGAIN),
    ]


def check_dump(dump: Dump) -> list[Finding]:
    """Findings about the switches, hosts and cables of a dump."""
    return [
        *_boxes(dump),
        *_lids(dump),
        *_ports(dump),
        *_far_ends(dump),
        *_speeds(dump),
        *_tolerated(dump),
        *check_tables(dump),
    ]


def _boxes(dump: Dump) -> list[Finding]:
    again = [f"line {line}: {key}" for line, key in dump.repeated]
    sharp = [box.key for box in dump.of_kind("aggregation")]
    unknown = sorted({f"line {e.line}: {e.peer}" for e in dump.ends if e.peer not in dump.boxes})
    routers = [box.key for box in dump.of_kind("router")]
    unknown_cables = [] if dump.cables_known else [dump.format]
    return [
        *found(
            "note",
            unknown_cables,
            "the number and the rates of the cables are not known",
            "this format states which switches are connected, and nothing else",
            "hop classes are right; loads need ibnetdiscover",
        ),
        *found(
            "error",
            again,
            "{n} device{s} {are} described twice",
            "two dumps in one file, or a GUID given to two cards",
            "dump again; give cards with the same GUID new firmware settings",
        ),
        *found(
            "error",
            unknown,
            "{n} device{s} {are} seen at a cable's far end but not described",
            "the scan ended early, or lines were cut out",
            "dump again as root, the whole fabric",
        ),
        *found(
            "note",
            sharp,
            "{n} SHARP aggregation node{s} {are} left out",
            "they reduce data inside the switches and carry no point-to-point traffic",
            "nothing to do",
        ),
        *found("note", routers, "{n} router{s} {are} left out", "they lead to other subnets", "nothing to do"),
    ]


def _lids(dump: Dump) -> list[Finding]:
    owners: dict[int, list[str]] = defaultdict(list)
    for box in dump.boxes.values():
        for lid in set(box.lids):
            owners[lid].append(box.key)
    twice = [f"lid {lid}: {', '.join(keys[:3])}" for lid, keys in sorted(owners.items()) if len(keys) > 1 and lid]
    zero = owners.get(0, [])
    return [
        *found(
            "error",
            twice,
            "{n} LID{s} {are} held by more than one device",
            "two subnet managers, or a dump put together from two fabrics: routes by LID are ambiguous",
            "look for a second subnet manager (sminfo), and dump again",
        ),
        *found(
            "warning",
            zero,
            "{n} device{s} {have} LID 0",
            "no subnet manager has configured them: nothing is routed there",
            "start or check the subnet manager, then dump again",
        ),
    ]


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
    return [
        *found(
            "error",
            double,
            "{n} port{s} {are} described more than once",
            "two dumps in one file, or an edited one",
            "dump again; the first description is used",
        ),
        *found("error", itself, "{n} port{s} with a loop", "a loop-back plug or a wrong dump", "look at the port"),
    ]


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
    return [
        *found(
            "error",
            missing,
            "{n} cable{s} {are} reported by one end only",
            "the scan ended early, or the far end went down in it",
            "dump again; the cable is taken as that end reports it",
        ),
        *found(
            "error",
            other,
            "{n} port{s} with a far end that sees another device",
            "two dumps in one file, or an edited one",
            "dump again; such cables are left out",
        ),
        *found(
            "error",
            asymmetric,
            "{n} cable{s} with different rates in the two directions",
            "the dump was taken while a link trained, or the far end reports another speed",
            "check both ends with iblinkinfo; reseat the cable",
        ),
    ]


def _speeds(dump: Dump) -> list[Finding]:
    unknown = Counter(end.speed for end in dump.ends if end.speed and end.rate != end.rate)
    known = ", ".join(sorted({m[2] for e in dump.ends if (m := TEXT.fullmatch(e.speed)) and rate_of(e.speed) > 0}))
    rated = [end for end in dump.ends if end.rate == end.rate]
    between = [e for e in rated if _is_switch(dump, e.key) and _is_switch(dump, e.peer)]
    hosts = {box.key for box in dump.of_kind("host")}
    return [
        *found(
            "warning",
            [f"{s} ({n} times)" for s, n in unknown.items()],
            "{n} speed{s} not known to Weft",
            "a newer generation of InfiniBand, or a port that is still training",
            f"report it to the authors of Weft; known speeds: {known or 'none'}",
        ),
        *_slower(
            [e for e in between if (e.key, e.port) < (e.peer, e.peer_port)],
            "cable{s} between switches",
            "a cable or transceiver that trained down; or an older switch kept in the fabric",
        ),
        *_slower(
            [end for end in rated if end.key in hosts],
            "cable{s} of hosts",
            "an adapter, slot or cable that trained down: every all-to-all waits for the slowest host",
        ),
    ]


def _slower(ends: list[End], which: str, cause: str) -> list[Finding]:
    usual = Counter(end.rate for end in ends).most_common(1)
    slow = [f"{e.key} port {e.port} to {e.peer} (line {e.line}) {e.speed}" for e in ends if e.rate < usual[0][0]]
    name = next((end.speed for end in ends if end.rate == usual[0][0]), "")
    remedy = "check the cable (ibdiagnet, mlxlink), reseat or replace it"
    return found("warning", slow, f"{{n}} {which} {{are}} slower than the usual {name}", cause, remedy)


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
        *found(
            "warning",
            [f"line {line}: {what}" for line, what in dump.down],
            "{n} link{s} {are} not active",
            "a cable or port that is down, disabled or still training",
            "check the port (ibportstate); it is left out of the routes",
        ),
        *found(
            "note",
            [f"{key}: LMC {lmc}" for key, lmc in dump.lmc.items() if lmc],
            "{n} device{s} {have} several LIDs a port (LMC)",
            "each LID may have a route of its own",
            "loads are those of each port's first LID",
        ),
        *found(
            "note",
            hot,
            "{n} port{s} {have} waited for credits since the counters were reset",
            "measured: data waited there because the next link was full",
            "compare with weft route show FILE, which tells the links that routes fill",
        ),
    ]


def _is_switch(dump: Dump, key: str) -> bool:
    box = dump.boxes.get(key)
    return box is not None and box.kind == "switch"
