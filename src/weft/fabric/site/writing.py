# SPDX-License-Identifier: BSD-3-Clause
"""An annotated fabric file of a site: each number with its source; what is not known stands there as a comment."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import replace

from weft.errors import FabricError
from weft.fabric.nodeset import fold, fold_for_people, natural
from weft.fabric.site.found import Adapter, NodeClass, Queue, Site, gbit, preset_of
from weft.format import format_bytes
from weft.text import one_line, plain

UNKNOWN = "not known here"
LONGEST_LIMIT_S = 4 * 3600.0
WIDE = 46


def fabric_text(site: Site, adapters: Sequence[Adapter], host: str) -> str:
    """The text of the fabric file. Raises FabricError: the scheduler named no node with cores that is up."""
    there = [each for each in site.queues if each.nodes]  # the default one if it has nodes, else that with most
    queue = max(there, key=lambda each: (each.is_default, each.nodes), default=None)
    nodes = next((each for each in queue.classes if each.cores), None) if queue else None
    alike = len(nodes.names) if nodes else 0
    if nodes and queue and 0 < queue.most < alike:
        nodes = replace(nodes, names=nodes.names[: queue.most])
    if queue is None or nodes is None:
        asked = ", ".join(site.asked) or "nothing that answered"
        raise FabricError(
            f"the scheduler ({site.kind}) names no node that is up and says its cores; asked: {asked}"
            + (f"; not understood: {site.unread[0]}" if site.unread else ""),
            "ask it by hand whether it has nodes for you, or copy the file in docs/cluster.md",
        )
    name = site.name or "mycluster"
    lines = [
        f"# Written by weft init {site.kind} on {one_line(plain(host))} from {', '.join(site.asked) or 'nothing'}.",
        "# A line that begins with # and a key is not known here: correct it and take off the #.",
        f"name = {json.dumps(name)}",
        f"kind = {json.dumps(site.kind)}",
        f"title = {json.dumps(f'{name}, queue {queue.name}' if queue.name else name)}",
        "", *_node(site.kind, queue, nodes, alike), "",
        *_network(site, nodes, adapters, host), "", *_batch(site, queue),
    ]  # fmt: skip
    if site.unread:
        lines += ["", "# Printed by the scheduler and not understood:"]
        lines += [f"#   {one_line(each)}" for each in site.unread]
    return "\n".join(lines) + "\n"


def key(name: str, value: str | int, why: str) -> str:
    """One key, its value, and where it comes from."""
    written = f"{name} = {json.dumps(value)}"
    return f"{written:{WIDE}} # {one_line(plain(why))}"


def unknown(name: str, example: str | list[str], why: str) -> str:
    """A key that is not known, as a comment with an example."""
    return f"# {f'{name} = {json.dumps(example)}':{WIDE - 2}} # {why}"


def _node(kind: str, queue: Queue, nodes: NodeClass, number: int) -> Iterator[str]:
    """The section of a node; ``number`` nodes are alike, of which these are as many as a job may have."""
    yield "[node]"
    where = f"queue {queue.name}" if queue.name else "all nodes"
    alike = f"{number} alike that are up, {where}" + (" (the default)" if queue.is_default and queue.name else "")
    most = f"; a job may have {queue.most} of them at most" if number > len(nodes.names) else ""
    yield key("names", fold(nodes.names), alike + (f", each with {nodes.devices}" if nodes.devices else "") + most)
    if nodes.sockets:
        yield key("sockets", nodes.sockets, "as the scheduler says")
    else:
        yield unknown("sockets", "2", UNKNOWN + ": processors of a node (lscpu on one)").replace('"2"', "2  ")
    threads = f"; {nodes.threads} hardware threads each are not counted" if nodes.threads > 1 else ""
    maybe = "; hardware threads, where the site counts those (lscpu on one)" if kind in ("pbs", "lsf") else ""
    yield key("cores", nodes.cores, f"as the scheduler says, over all sockets{threads}{maybe}")
    if nodes.memory:
        kept = "as the scheduler says; less, if it keeps some for the system"
        yield key("memory", f"{nodes.memory // 2**20} MiB", kept)
    else:
        yield unknown("memory", "180 GiB", UNKNOWN + ": what a node can give to ranks (free -g on one)")
    yield unknown("copy_rate", "100 GB/s", UNKNOWN + ": weft run contention on one node measures it; bounds need it")
    for other in queue.classes:
        if other.likeness != nodes.likeness:
            memory = format_bytes(other.memory) if other.memory else ""
            has = ", ".join(filter(None, (f"{other.cores} cores", memory, one_line(other.devices))))
            yield f"# other nodes of it: {fold_for_people(other.names)}: {has}"
    if queue.down:
        yield f"# left out, down, drained or reserved: {fold_for_people(queue.down)}"


def _network(site: Site, nodes: NodeClass, adapters: Sequence[Adapter], host: str) -> Iterator[str]:
    yield "[network]"
    here, rate = one_line(plain(host)), ""
    if adapters:
        first = adapters[0]
        seen = f"/sys/class/infiniband of {host}: {first.name}, {first.rate}, {first.layer}"
        rate = f"{gbit(first):g} Gbit/s" if gbit(first) else ""
        if preset := preset_of(first):
            yield key("preset", preset, f"{seen}; weft fabric presets shows its numbers")
        elif rate:
            yield key("adapter_rate", rate, seen)
            yield unknown("latency", "1.5 us", UNKNOWN + ": one way, between two nodes of one switch")
        same = sum(each.rate == first.rate and each.layer == first.layer for each in adapters)
        if same > 1:
            yield key("rails", same, f"{same} active ports of that rate on {host}")
        others = [each for each in adapters if (each.rate, each.layer) != (first.rate, first.layer)]
        if others:
            ports = "; ".join(f"{each.name}, {each.rate}, {each.layer}" for each in others[:6])
            yield f"# other active ports on {here}: {ports}"
    if not rate:
        why = f"{UNKNOWN}: no active adapter on {here}; weft fabric presets lists them"
        yield unknown("preset", "hdr-infiniband", why)
        yield "# or by hand:"
        yield unknown("latency", "1.5 us", "one way, between two nodes of one switch")
        yield unknown("adapter_rate", "12 GB/s", "what one adapter can inject, each way")
    yield from _topology(site, nodes, rate)


def _topology(site: Site, nodes: NodeClass, rate: str) -> Iterator[str]:
    width = leaf_width(site, nodes.names)
    if width and rate:
        yield key("topology", "fat-tree", f"scontrol show topology: {-(-len(nodes.names) // width)} leaves")
        yield from ("", "[network.tree]")
        yield key("nodes_per_leaf", width, "scontrol show topology")
        yield key("uplinks", width, f"{UNKNOWN}; assumed: as many as nodes, no oversubscription")
        yield key("link_rate", rate, f"{UNKNOWN}; assumed: as an adapter")
    elif len(site.leaves) > 1:
        why = "need a rate of their links" if width else "do not hold equal runs of these nodes"
        yield f"# {len(site.leaves)} leaf switches, which {why}:"
        yield "#   scontrol show topology >topology.txt; weft fabric import topology.txt -o imported.toml"
    else:
        yield unknown("topology", "fat-tree", f"{UNKNOWN}: one switch is assumed; with its section, for example")
        yield from ("# [network.tree]", "# nodes_per_leaf = 18", "# uplinks = 9", '# link_rate = "12 GB/s"')


def leaf_width(site: Site, names: Sequence[str]) -> int:
    """Nodes on each leaf where every leaf holds the next so many of the names (the last perhaps fewer); 0 if not."""
    here = set(names)
    leaves = {frozenset(held) for _, nodes in site.leaves if (held := here.intersection(nodes))}
    ordered = sorted(names, key=natural)
    if len(leaves) < 2:
        return 0
    width = max(len(leaf) for leaf in leaves)
    return width if {frozenset(ordered[at : at + width]) for at in range(0, len(ordered), width)} == leaves else 0


def _batch(site: Site, queue: Queue) -> Iterator[str]:
    yield "[batch]"
    if queue.name:
        yield key("partition", queue.name, "the default queue" if queue.is_default else "the queue with most nodes")
        if others := [each.name for each in site.queues if each.name != queue.name]:
            yield f"# other queues: {', '.join(others[:12])}{' ...' if len(others) > 12 else ''}"
    else:
        yield unknown("partition", "batch", UNKNOWN + ": the queue, if the site has several")
    if queue.limit_s >= 60:
        most = min(queue.limit_s, LONGEST_LIMIT_S)
        less = "" if most == queue.limit_s else f"; less than the queue's {queue.limit_s / 3600:g} h, to start sooner"
        yield key("time_limit", f"{int(most // 60)} min", f"longest job{less}")
    else:
        yield unknown("time_limit", "1 h", UNKNOWN + ": longest job that is allowed; 1 h is taken")
    hints = dict(queue.hints)
    if site.mpi:
        yield key("mpi", site.mpi[0], f"the scheduler offers {', '.join(site.mpi)}; pmix for Open MPI, pmi2 for MPICH")
    examples = {"account": ("hpc42", "account that pays for the time"), "qos": ("normal", "quality of service")}
    for name, (example, why) in examples.items():
        if name in hints:
            yield unknown(name, hints[name], f"the queue allows some only, {hints[name]} among them")
        elif name == "account" or site.kind in ("slurm", "lsf"):
            yield unknown(name, example, f"{UNKNOWN}: {why}, if the site asks for it")
    yield unknown("setup", ["module load openmpi"], "shell lines run before the first launch")
