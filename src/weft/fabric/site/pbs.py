# SPDX-License-Identifier: BSD-3-Clause
"""A site under PBS Pro or OpenPBS: ``pbsnodes -a -F json``, ``qstat -Q -f -F json`` and ``qstat -B -f -F json``."""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from weft.fabric.site.found import NodeClass, Queue, Site, Unread, alike, among, count, names_of, parsed, word
from weft.files.reading import is_table

NODES = ("pbsnodes", "-a", "-F", "json")
QUEUES = ("qstat", "-Q", "-f", "-F", "json")
SERVER = ("qstat", "-B", "-f", "-F", "json")
COMMANDS = (NODES, QUEUES, SERVER)
DOWN = re.compile(r"down|offline|unknown|stale|maintenance|provision|sleep|resv", re.IGNORECASE)
UNITS = {"b": 1, "kb": 2**10, "mb": 2**20, "gb": 2**30, "tb": 2**40}


def read_site(outputs: Mapping[tuple[str, ...], str]) -> Site:
    """The site in what the commands printed, by command; an empty text where one could not be asked."""
    unread = Unread()
    nodes = parsed(outputs.get(NODES, ""), "pbsnodes", unread)
    classes, down, bound = _classes(nodes, unread)
    default = _default(parsed(outputs.get(SERVER, ""), "qstat -B", unread))
    queues = tuple(_queues(parsed(outputs.get(QUEUES, ""), "qstat", unread), default, (classes, down), bound))
    return Site(
        "pbs",
        word(str(nodes.get("pbs_server", "")).partition(".")[0]),
        queues or (Queue("", True, 0.0, classes, down),),
        asked=tuple(" ".join(command) for command, text in outputs.items() if text.strip()),
        unread=tuple(unread.lines),
    )


def seconds(text: object) -> float:
    """Seconds of ``24:00:00``, ``30:00`` or ``3600``; 0 for what is none."""
    found = re.fullmatch(r"(?:(?:(\d{1,6}):)?(\d{1,6}):)?(\d{1,9})", str(text).strip())
    return (
        float(sum(int(part or 0) * unit for part, unit in zip(found.groups(), (3600, 60, 1), strict=True)))
        if found
        else 0.0
    )


def memory(text: object) -> int:
    """Bytes of ``527834724kb``; 0 for what is none."""
    found = re.fullmatch(r"(\d{1,15})([kmgt]?b)", str(text).strip().lower())
    return int(found[1]) * UNITS[found[2]] if found else 0


def _table(tree: Mapping[str, Any], key: str) -> dict[str, Any]:
    value = tree.get(key)
    return value if is_table(value) else {}


def _default(tree: Mapping[str, Any]) -> str:
    """The server's default queue; ``workq``, which installing makes it, where it does not say."""
    servers = [value for value in _table(tree, "Server").values() if is_table(value)]
    return next((found for each in servers if (found := word(each.get("default_queue")))), "workq")


def _classes(tree: Mapping[str, Any], unread: Unread) -> tuple[tuple[NodeClass, ...], tuple[str, ...], dict[str, str]]:
    """Nodes that are up, by likeness, the others, and the queue of each that has one; a host's vnodes added up."""
    bound: dict[str, str] = {}
    cores: dict[str, int] = {}
    bytes_of: dict[str, int] = {}
    down: dict[str, None] = {}
    for name, value in _table(tree, "nodes").items():
        node = value if is_table(value) else {}
        resources = _table(node, "resources_available")
        host = names_of(str(resources.get("host", name)), "pbsnodes", unread)
        if len(host) != 1:
            continue
        if DOWN.search(str(node.get("state", ""))):
            down[host[0]] = None
        if only := word(node.get("queue")):
            bound[host[0]] = only
        cores[host[0]] = cores.get(host[0], 0) + count(resources.get("ncpus", node.get("pcpus", 0)))
        bytes_of[host[0]] = bytes_of.get(host[0], 0) + memory(resources.get("mem", ""))
    up = [NodeClass((name,), cores[name], memory=bytes_of[name]) for name in cores if name not in down and cores[name]]
    return alike(up), tuple(down), bound


def _queues(
    tree: Mapping[str, Any], default: str, nodes: tuple[tuple[NodeClass, ...], tuple[str, ...]], bound: dict[str, str]
) -> Iterator[Queue]:
    """Queues that run jobs, each with the nodes that are bound to it; one to which none is has all free ones."""
    classes, down = nodes
    everywhere = [name for each in classes for name in each.names]
    for name, value in _table(tree, "Queue").items():
        queue = value if is_table(value) else {}
        runs = str(queue.get("queue_type", "Execution")) == "Execution"
        open_ = all(str(queue.get(key, "True")) == "True" for key in ("enabled", "started"))
        if runs and open_ and word(name):
            limit = seconds(_table(queue, "resources_max").get("walltime", ""))
            home = name if name in bound.values() else None
            own = {host for host in (*everywhere, *down) if bound.get(host) == home}
            most = count(_table(queue, "resources_max").get("nodect", ""))
            lost = tuple(host for host in down if host in own)
            yield Queue(name, name == default, limit, among(classes, own), lost, most=most)
