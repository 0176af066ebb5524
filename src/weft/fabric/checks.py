# SPDX-License-Identifier: BSD-3-Clause
"""Checks of a fabric: its file, dump and network; one finding for each cause, with its text in `findings.toml`."""

import tomllib
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any, Literal

import numpy as np

from weft.errors import FabricError
from weft.fabric.hops import leaf_hops
from weft.fabric.model import Fabric
from weft.fabric.network.build import build_network, read_section_dump
from weft.fabric.network.dumped import UNROUTED, forward_of, network_of
from weft.fabric.network.graph import Bools, Ints, Network, directions, islands
from weft.fabric.readers.dump import TEXT, Dump, End, rate_of
from weft.fabric.summary import levels
from weft.format import format_factor, format_rate

Severity = Literal["error", "warning", "note"]
COLOURS = {"error": "bold red", "warning": "yellow", "note": "cyan"}  # worst first
EXAMPLES = 3
PLURAL = {"s": "s", "es": "es", "are": "are", "have": "have"}
SINGULAR = {"s": "", "es": "", "are": "is", "have": "has"}


@dataclass(frozen=True)
class Finding:
    """Something that a check found."""

    id: str  # its name in `findings.toml`
    # ``error``: the description contradicts itself, and results would mean nothing. ``warning``: probably a fault of
    # the machine or a slip in the file. ``note``: worth knowing when numbers are read.
    severity: Severity
    what: str  # and where
    cause: str  # the usual one, or its effect on results
    remedy: str  # the next step


@cache
def finding_texts() -> Mapping[str, Mapping[str, Any]]:
    """Severity, what, cause and remedy of each finding, by id."""
    return tomllib.loads(Path(__file__).with_name("findings.toml").read_text(encoding="utf-8"))


def finding(id: str, severity: Severity | None = None, **values: Any) -> Finding:
    """A finding with its values put in; of another severity than usual if one is given."""
    text = finding_texts()[id]
    what, cause, remedy = (text[key].format(**values) for key in ("what", "cause", "remedy"))
    return Finding(id, severity or text["severity"], what, cause, remedy)


def found(id: str, places: Sequence[str], count: int | None = None, **values: Any) -> list[Finding]:
    """One finding for all ``places``, or none when there are none; ``count`` if they are only the first of so many."""
    count = len(places) if count is None else count
    if not count:
        return []
    made = finding(id, n=count, **(SINGULAR if count == 1 else PLURAL), **values)  # pyrefly: ignore[bad-argument-type]
    more = f" and {count - EXAMPLES} more" if count > EXAMPLES else ""
    return [replace(made, what=f"{made.what}: {'; '.join(places[:EXAMPLES])}{more}")]


def _tables(dump: Dump) -> list[Finding]:
    if dump.tables is None:
        return []
    try:
        _, places = forward_of(network_of(dump, routed=False), dump.tables)
    except FabricError as error:
        return [finding("foreign-tables", what=error.what, remedy=error.remedy)]
    odd = [f"line {line}: {text}" for line, text in dump.tables.odd]
    odd += [""] * (dump.tables.odd_lines - len(odd))
    return [each for id, named in {"odd-lines": odd, **places}.items() for each in found(id, named)]


def check_dump(dump: Dump) -> list[Finding]:
    """Findings about the switches, hosts and cables of a dump."""
    return [*_boxes(dump), *_far_ends(dump), *_speeds(dump), *_tolerated(dump), *_tables(dump)]


def _boxes(dump: Dump) -> list[Finding]:
    unknown = sorted({f"line {e.line}: {e.peer}" for e in dump.ends if e.peer not in dump.boxes})
    owners: dict[int, list[str]] = defaultdict(list)
    for box in dump.boxes.values():
        for lid in set(box.lids):
            owners[lid].append(box.key)
    twice = [f"lid {lid}: {', '.join(keys[:3])}" for lid, keys in sorted(owners.items()) if len(keys) > 1 and lid]
    lines: dict[tuple[str, int], list[int]] = defaultdict(list)
    for end in dump.ends:
        lines[end.key, end.port].append(end.line)
    double = [f"{key} port {at} (lines {own[0]}, {own[1]})" for (key, at), own in lines.items() if len(own) > 1]
    itself = [f"{e.key} port {e.port} (line {e.line})" for e in dump.ends if (e.key, e.port) == (e.peer, e.peer_port)]
    return [
        *found("unknown-cables", [] if dump.cables_known else [dump.format]),
        *found("device-twice", [f"line {line}: {key}" for line, key in dump.repeated]),
        *found("device-not-described", unknown),
        *found("aggregation-nodes", [box.key for box in dump.of_kind("aggregation")]),
        *found("routers", [box.key for box in dump.of_kind("router")]),
        *found("lid-twice", twice),
        *found("lid-zero", owners.get(0, [])),
        *found("port-twice", double),
        *found("loop", itself),
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
    return [*found("one-end", missing), *found("other-end", other), *found("asymmetric-rate", asymmetric)]


def _speeds(dump: Dump) -> list[Finding]:
    unknown = Counter(end.speed for end in dump.ends if end.speed and end.rate != end.rate)
    known = ", ".join(sorted({m[2] for e in dump.ends if (m := TEXT.fullmatch(e.speed)) and rate_of(e.speed) > 0}))
    rated = [end for end in dump.ends if end.rate == end.rate]
    switches, hosts = ({box.key for box in dump.of_kind(kind)} for kind in ("switch", "host"))
    between = [e for e in rated if e.key in switches and e.peer in switches and (e.key, e.port) < (e.peer, e.peer_port)]
    return [
        *found("unknown-speed", [f"{s} ({n} times)" for s, n in unknown.items()], known=known or "none"),
        *_slower(between, "slow-switch-cable"),
        *_slower([end for end in rated if end.key in hosts], "slow-host-cable"),
    ]


def _slower(ends: list[End], id: str) -> list[Finding]:
    usual = max(Counter(end.rate for end in ends).items(), key=lambda each: each[1], default=(0.0, 0))[0]
    slow = [f"{e.key} port {e.port} to {e.peer} (line {e.line}) {e.speed}" for e in ends if e.rate < usual]
    return found(id, slow, usual=next((end.speed for end in ends if end.rate == usual), ""))


def _tolerated(dump: Dump) -> list[Finding]:
    """Notes on what a network ignores of a real dump: links that are down, several LIDs on a port, ports that wait."""
    waits = sorted(((ticks, *port, sent) for port, (ticks, sent) in dump.counters.items() if ticks), reverse=True)
    waits = waits if any(sent for _, sent in dump.counters.values()) else []
    hot = [f"{key} port {port}: {ticks:,} ticks, {sent:,} B sent" for ticks, key, port, sent in waits]
    return [
        *found("link-down", [f"line {line}: {what}" for line, what in dump.down]),
        *found("several-lids", [f"{key}: LMC {lmc}" for key, lmc in dump.lmc.items() if lmc]),
        *found("waited-for-credits", hot),
    ]


def check_fabric(fabric: Fabric) -> tuple[Finding, ...]:
    """All findings about a fabric, worst first."""
    findings = [*_nodes(fabric), *_network(fabric), *_model(fabric), *_sources(fabric)]
    try:
        if network := fabric.network:
            if network.dump is not None:
                findings += check_dump(read_section_dump(network.dump, fabric.path.parent))
            findings += check_network(build_network(fabric, routed=False))
    except FabricError as error:
        findings.append(finding("no-network", what=error.what, remedy=error.remedy))
    return tuple(sorted(findings, key=lambda f: list(COLOURS).index(f.severity)))


def _nodes(fabric: Fabric) -> Iterator[Finding]:
    node = fabric.node
    if node.sockets and node.cores and node.cores % node.sockets:
        yield finding("uneven-sockets", cores=node.cores, sockets=node.sockets)
    if node.memory and node.cores and node.memory / node.cores < 64 * 2**20:
        yield finding("little-memory", memory=node.memory, cores=node.cores)


def _network(fabric: Fabric) -> Iterator[Finding]:
    """Rates and a latency that are missing or contradict; reading the file refuses implausible ones."""
    copies, network = fabric.node.copy_rate, fabric.network
    if network is None:
        return
    if network.adapter_rate is None and network.topology != "dump" and not fabric.is_model:
        yield finding("no-adapter-rate")
    elif copies and network.adapter_rate and copies < network.adapter_rate:
        yield finding("slow-copies", copies=format_rate(copies), adapter=format_rate(network.adapter_rate))
    if network.latency is None:
        yield finding("no-latency")


def _model(fabric: Fabric) -> Iterator[Finding]:
    """Keys that a simulation requires: without them `weft run` refuses the file. The routes of a dump need none."""
    if not fabric.is_model:
        return
    network = fabric.network
    dumped = network is not None and network.topology == "dump"
    if not fabric.node.copy_rate:
        yield finding("no-number-of-model", "warning" if dumped else None, key="node.copy_rate")
    # nothing leaves an only node
    if network is not None and not network.adapter_rate and not dumped and len(fabric.hosts) > 1:
        yield finding("no-number-of-model", key="network.adapter_rate")


def _sources(fabric: Fabric) -> list[Finding]:
    """Numbers without a source; local and virtual fabrics need none."""
    if fabric.runs_here:
        return []
    shapes = ("tree", "dragonfly", "torus")
    given = {"node": fabric.node, "network": fabric.network}
    given |= {f"network.{name}": getattr(fabric.network, name, None) for name in shapes}
    keys = [
        f"{section}.{key}"
        for section, model in given.items()
        if model is not None and section not in fabric.sources
        for key in sorted(model.model_fields_set - {"preset", "dump", *shapes})
    ]
    return found("no-source", [key for key in keys if key not in fabric.sources])


def check_network(network: Network) -> list[Finding]:
    """Findings about a network: disconnected parts, uneven leaves, oversubscription."""
    places = [
        f"level {level.level}: {format_factor(level.most)} to 1 at {level.worst}"
        for level in levels(network)
        if np.isfinite(level.most) and level.most > 1.001
    ]
    parts = [*_cables(network), *_unreachable(network), *_idle(network), *_uneven(network)]
    return [*parts, *found("oversubscribed", places)]


def _cables(network: Network) -> list[Finding]:
    hosts = len(network.hosts)
    count = np.bincount(network.links.source[network.links.source < hosts], minlength=hosts)
    return [
        *found("host-without-cable", [network.hosts[h] for h in np.flatnonzero(count == 0)]),
        *found("host-with-several-cables", [f"{network.hosts[h]} ({count[h]})" for h in np.flatnonzero(count > 1)]),
        *found("cable-without-rate", [network.link_name(i) for i in np.flatnonzero(np.isnan(network.links.rate))[::2]]),
    ]


def _unreachable(network: Network) -> list[Finding]:
    cabled = np.flatnonzero(network.leaf >= 0).astype(np.int32)
    if len(cabled) < 2:
        return []
    first, count = list[tuple[int, int]](), 0  # two separate parts lose as many pairs as a matrix has entries
    try:
        for leaf, reached in _reached(network, cabled):
            lost = cabled[~reached]
            first += [(leaf, host) for host in lost[:EXAMPLES].tolist()]
            count += len(lost)
    except FabricError as error:
        return [finding("foreign-routes", what=error.what, remedy=error.remedy)]
    pairs = [f"{network.switches[leaf].name} to {network.hosts[host]}" for leaf, host in sorted(first)]
    return found("unreachable", pairs, count)


def _reached(network: Network, cabled: Ints) -> Iterator[tuple[int, Bools]]:
    """Each switch with hosts, and which hosts of ``cabled`` it reaches, shape (cabled,); by cables without tables."""
    if network.routing != UNROUTED:
        return ((leaf, hops >= 0) for leaf, hops in leaf_hops(network, cabled))
    hosts = len(network.hosts)
    island = islands(hosts + len(network.switches), network.links.source, network.links.target)
    return ((leaf, island[cabled] == island[hosts + leaf]) for leaf in network.hosts_below)


def _idle(network: Network) -> list[Finding]:
    """Switches that carry no traffic: no host below, and at most one neighbour."""
    source, _ = np.unique(np.stack([network.links.source, network.links.target]), axis=1)
    neighbours = np.bincount(source, minlength=len(network.hosts) + len(network.switches))[len(network.hosts) :]
    both = enumerate(zip(network.switches, neighbours, strict=True))
    bare = [each for number, each in both if number not in network.hosts_below]
    lowest = [switch.name for switch, _ in bare if switch.level == 1]
    ends = [switch.name for switch, beside in bare if switch.level != 1 and beside < 2]
    return [*found("empty-leaf", lowest), *found("dead-end", ends)]


def _uneven(network: Network) -> list[Finding]:
    hosts, bearing = len(network.hosts), list(network.hosts_below)
    if not bearing or not network.cables_known:
        return []
    up = (network.links.source >= hosts) & (directions(network) > 0)
    cables = np.bincount(network.links.source[up] - hosts, minlength=len(network.switches))
    usual = int(np.bincount(cables[bearing]).argmax())
    few = sorted((int(cables[s]), network.switches[s].name) for s in bearing if cables[s] < usual)
    return found("uneven-leaves", [f"{name} has {n}" for n, name in few], usual=usual)
