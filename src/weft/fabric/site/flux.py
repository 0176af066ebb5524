# SPDX-License-Identifier: BSD-3-Clause
"""A site under Flux: ``flux resource R`` (the resource set of RFC 20) and ``flux queue list``."""

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from weft.fabric.nodeset import NodeSetError, expand
from weft.fabric.site.found import NodeClass, Queue, Site, Unread, alike, among, names_of, parsed, rows, word
from weft.files.reading import is_list, is_table

RESOURCES = ("flux", "resource", "R")
DOWN = ("flux", "resource", "list", "--no-header", "--states=down", "--format={nodelist}")
QUEUES = ("flux", "queue", "list")
COMMANDS = (RESOURCES, DOWN, QUEUES)
CLOSED = ("✗", "n", "no", "false")
UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86400}


def read_site(outputs: Mapping[tuple[str, ...], str]) -> Site:
    """The site in what the commands printed, by command; an empty text where one could not be asked."""
    unread = Unread()
    text = outputs.get(DOWN, "").strip()
    down = names_of(text, "flux resource list", unread) if text else ()
    execution = _execution(outputs.get(RESOURCES, ""), unread)
    classes = alike(_classes(execution, set(down), unread))
    queues = tuple(_queues(outputs.get(QUEUES, ""), classes, down, _properties(execution)))
    return Site(
        "flux",
        "",
        queues or (Queue("", True, 0.0, classes, down),),
        ("pmix",),
        asked=tuple(" ".join(command[:3]) for command, printed in outputs.items() if printed.strip()),
        unread=tuple(unread.lines),
    )


def seconds(text: str) -> float:
    """Seconds of ``1h``, ``30m`` or ``1.5d``; 0 for ``inf`` and what is none."""
    found = re.fullmatch(r"(\d{1,9}(?:\.\d{1,6})?)([smhd])", text)
    return float(found[1]) * UNITS[found[2]] if found else 0.0


def ids(text: object) -> tuple[int, ...]:
    """Numbers of an id set: ``0-3,7``; none for what is none."""
    if not isinstance(text, str) or not re.fullmatch(r"[0-9,-]+", text):
        return ()
    try:
        return tuple(int(name) for name in expand(f"[{text}]"))
    except NodeSetError:
        return ()


def _execution(text: str, unread: Unread) -> dict[str, Any]:
    found = parsed(text, "flux resource R", unread).get("execution", {})
    if is_table(found):
        return found
    unread.add("flux resource R", text)
    return {}


def _names(execution: Mapping[str, Any], unread: Unread) -> list[str]:
    listed = execution.get("nodelist")
    texts = [each for each in listed if isinstance(each, str)] if is_list(listed) else []
    return [name for text in texts for name in names_of(text, "flux resource R", unread)]


def _classes(execution: Mapping[str, Any], down: set[str], unread: Unread) -> Iterator[NodeClass]:
    """Nodes by ``R_lite``: the n-th rank is the n-th name of the node list, in its own order."""
    names = _names(execution, unread)
    lite = execution.get("R_lite")
    for each in lite if is_list(lite) else []:
        children = each.get("children") if is_table(each) else None
        cores = len(ids(children.get("core"))) if is_table(children) else 0
        ranks = ids(each.get("rank")) if is_table(each) else ()
        here = tuple(names[rank] for rank in ranks if rank < len(names) and names[rank] not in down)
        if cores and here:
            yield NodeClass(here, cores)
        elif not cores or not ranks:
            unread.add("flux resource R", json.dumps(each))


def _properties(execution: Mapping[str, Any]) -> dict[str, set[str]]:
    names = _names(execution, Unread())
    found = execution.get("properties")
    return {
        str(name): {names[rank] for rank in ids(ranks) if rank < len(names)}
        for name, ranks in (found if is_table(found) else {}).items()
    }


def _queues(
    text: str, classes: tuple[NodeClass, ...], down: tuple[str, ...], properties: Mapping[str, set[str]]
) -> Iterator[Queue]:
    """Queues that take jobs; ``*`` marks the default. One has the nodes with a property of its name, else all."""
    table = list(rows(text))
    if not table or table[0][0] != "QUEUE" or "TLIMIT" not in table[0]:
        return
    at = table[0].index("TLIMIT")
    enabled = table[0].index("EN") if "EN" in table[0] else None
    for fields in table[1:]:
        if (name := word(fields[0].strip("*"))) and len(fields) > at:
            if enabled is not None and fields[enabled].lower() in CLOSED:
                continue
            own = properties.get(name) or {*down, *(node for each in classes for node in each.names)}
            lost = tuple(node for node in down if node in own)
            yield Queue(name, "*" in fields[0], seconds(fields[at]), among(classes, own), lost)
