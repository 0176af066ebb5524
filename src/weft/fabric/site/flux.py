# SPDX-License-Identifier: BSD-3-Clause
"""A site under Flux: ``flux resource R`` (the resource set of RFC 20) and ``flux queue list``."""

import json
import re
from collections.abc import Iterator, Mapping, Sequence

from weft.fabric.nodeset import NodeSetError, expand
from weft.fabric.site.found import Answers, NodeClass, Queue, Site, alike, rows, scaled, table, word
from weft.files.reading import is_list, is_table

RESOURCES = ("flux", "resource", "R")
DOWN = ("flux", "resource", "list", "--no-header", "--states=down", "--format={nodelist}")
QUEUES = ("flux", "queue", "list")
COMMANDS = (RESOURCES, DOWN, QUEUES)
CLOSED = ("✗", "n", "no", "false")
UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86400}


def read_site(outputs: Mapping[tuple[str, ...], str]) -> Site:
    """The site in what the commands printed, by command; an empty text where one could not be asked."""
    answers = Answers(outputs)
    text = answers.text(DOWN).strip()
    down = answers.names(text, "flux resource list") if text else ()
    execution = answers.tree(RESOURCES, "flux resource R").get("execution", {})
    if not is_table(execution):
        answers.doubt("flux resource R", answers.text(RESOURCES))
        execution = {}
    listed = execution.get("nodelist")
    texts = [each for each in listed if isinstance(each, str)] if is_list(listed) else []
    names = [name for text in texts for name in answers.names(text, "flux resource R")]
    whole = Queue("", True, 0.0, alike(_classes(execution.get("R_lite"), names, set(down), answers)), down)
    properties = {
        name: {names[rank] for rank in ids(ranks) if rank < len(names)}
        for name, ranks in table(execution.get("properties")).items()
    }
    return answers.site("flux", "", _queues(answers.text(QUEUES), whole, properties), whole, mpi=("pmix",))


def ids(text: object) -> tuple[int, ...]:
    """Numbers of an id set: ``0-3,7``; none for what is none."""
    if not isinstance(text, str) or not re.fullmatch(r"[0-9,-]+", text):
        return ()
    try:
        return tuple(int(name) for name in expand(f"[{text}]"))
    except NodeSetError:
        return ()


def _classes(lite: object, names: Sequence[str], down: set[str], answers: Answers) -> Iterator[NodeClass]:
    """Nodes by ``R_lite``: the n-th rank is the n-th name of the node list, in its own order."""
    for each in lite if is_list(lite) else []:
        cores, ranks = len(ids(table(table(each).get("children")).get("core"))), ids(table(each).get("rank"))
        here = tuple(names[rank] for rank in ranks if rank < len(names) and names[rank] not in down)
        if cores and here:
            yield NodeClass(here, cores)
        elif not cores or not ranks:
            answers.doubt("flux resource R", json.dumps(each))


def _queues(text: str, whole: Queue, properties: Mapping[str, set[str]]) -> Iterator[Queue]:
    """Queues that take jobs; ``*`` marks the default. One has the nodes with a property of its name, else all."""
    head, *listed = rows(text) if text.strip() else [[""]]
    if head[0] != "QUEUE" or "TLIMIT" not in head:
        return
    at = head.index("TLIMIT")
    enabled = head.index("EN") if "EN" in head else None
    for fields in listed:
        if (name := word(fields[0].strip("*"))) and len(fields) > at:
            if enabled is not None and fields[enabled].lower() in CLOSED:
                continue
            own = properties.get(name) or whole.hosts
            yield whole.part(own, name=name, is_default="*" in fields[0], limit_s=scaled(fields[at], UNITS))
