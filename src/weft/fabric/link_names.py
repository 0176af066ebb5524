# SPDX-License-Identifier: BSD-3-Clause
"""Names of links in bounds, counters and reports: the lower end and the direction.

In a tree the uplinks of a host or switch count as one link, so ``link leaf0 up`` needs no name of a spine;
``link node2 down`` is the traffic that arrives at a host.
"""

import re
from collections import deque
from collections.abc import Iterable, Sequence

UP, DOWN = "up", "down"
#: Traffic that leaves a pod is summed over its spines, which generators call pod0-spine3.
POD_SPINE = re.compile(r"(pod\d+)-spine\d*")


def link_name(lower: str, direction: str) -> str:
    """``link leaf0 up``; the spines of a pod count as their pod."""
    pod = POD_SPINE.fullmatch(lower)
    return f"link {pod[1] if pod else lower} {direction}"


def depths(hosts: Iterable[str], links: Sequence[tuple[str, str]]) -> dict[str, int]:
    """Distance of each end from the nearest host, in links: 0 for a host, 1 for a leaf."""
    beside: dict[str, list[str]] = {}
    for one, other in links:
        beside.setdefault(one, []).append(other)
        beside.setdefault(other, []).append(one)
    found = {host: 0 for host in hosts if host in beside}
    queue = deque(found)
    while queue:
        here = queue.popleft()
        for there in beside[here]:
            if there not in found:
                found[there] = found[here] + 1
                queue.append(there)
    return found
