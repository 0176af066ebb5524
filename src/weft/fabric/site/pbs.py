# SPDX-License-Identifier: BSD-3-Clause
"""A site under PBS Pro or OpenPBS: ``pbsnodes -a -F json``, ``qstat -Q -f -F json`` and ``qstat -B -f -F json``."""

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

from weft.fabric.site.found import Answers, NodeClass, Queue, Site, alike, count, scaled, table, word

NODES = ("pbsnodes", "-a", "-F", "json")
QUEUES = ("qstat", "-Q", "-f", "-F", "json")
SERVER = ("qstat", "-B", "-f", "-F", "json")
COMMANDS = (NODES, QUEUES, SERVER)
DOWN = re.compile(r"down|offline|unknown|stale|maintenance|provision|sleep|resv", re.IGNORECASE)
UNITS = {"b": 1, "kb": 2**10, "mb": 2**20, "gb": 2**30, "tb": 2**40}


def read_site(outputs: Mapping[tuple[str, ...], str]) -> Site:
    """The site in what the commands printed, by command; an empty text where one could not be asked."""
    answers = Answers(outputs)
    nodes = answers.tree(NODES, "pbsnodes")
    everywhere, bound = _nodes(table(nodes.get("nodes")), answers)
    servers = table(answers.tree(SERVER, "qstat -B").get("Server")).values()
    # ``workq``, which installing makes it, where the server does not say
    default = next((found for each in servers if (found := word(table(each).get("default_queue")))), "workq")
    queues = _queues(table(answers.tree(QUEUES, "qstat").get("Queue")), default, everywhere, bound)
    return answers.site("pbs", word(str(nodes.get("pbs_server", "")).partition(".")[0]), queues, everywhere, words=None)


def seconds(text: object) -> float:
    """Seconds of ``24:00:00``, ``30:00`` or ``3600``; 0 for what is none."""
    found = re.fullmatch(r"(?:(?:(\d{1,6}):)?(\d{1,6}):)?(\d{1,9})", str(text).strip())
    parts = found.groups(default="0") if found else ()
    return float(sum(int(part) * unit for part, unit in zip(parts, (3600, 60, 1), strict=False)))


def memory(text: object) -> int:
    """Bytes of ``527834724kb``; 0 for what is none."""
    return round(scaled(str(text).lower(), UNITS))


def _nodes(nodes: Mapping[str, Any], answers: Answers) -> tuple[Queue, dict[str, str]]:
    """Nodes that are up, by likeness, and the others; the queue of each that has one. A host's vnodes are added up."""
    bound: dict[str, str] = {}
    cores, bytes_of = Counter[str](), Counter[str]()
    down: dict[str, None] = {}
    for name, node in ((name, table(value)) for name, value in nodes.items()):
        resources = table(node.get("resources_available"))
        host = answers.names(str(resources.get("host", name)), "pbsnodes")
        if len(host) != 1:
            continue
        if DOWN.search(str(node.get("state", ""))):
            down[host[0]] = None
        if only := word(node.get("queue")):
            bound[host[0]] = only
        cores[host[0]] += count(resources.get("ncpus", node.get("pcpus", 0)))
        bytes_of[host[0]] += memory(resources.get("mem", ""))
    up = [NodeClass((name,), cores[name], memory=bytes_of[name]) for name in cores if name not in down and cores[name]]
    return Queue("", True, 0.0, alike(up), tuple(down)), bound


def _queues(queues: Mapping[str, Any], default: str, everywhere: Queue, bound: dict[str, str]) -> Iterator[Queue]:
    """Queues that run jobs, each with the nodes that are bound to it; one to which none is has all free ones."""
    for name, queue in ((name, table(value)) for name, value in queues.items()):
        runs = str(queue.get("queue_type", "Execution")) == "Execution"
        open_ = all(str(queue.get(key, "True")) == "True" for key in ("enabled", "started"))
        if runs and open_ and word(name):
            limits = table(queue.get("resources_max"))
            limit, most = seconds(limits.get("walltime", "")), count(limits.get("nodect", ""))
            home = name if name in bound.values() else None
            own = {host for host in everywhere.hosts if bound.get(host) == home}
            yield everywhere.part(own, name=name, is_default=name == default, limit_s=limit, most=most)
