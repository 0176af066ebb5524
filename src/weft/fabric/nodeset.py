# SPDX-License-Identifier: BSD-3-Clause
"""Names of nodes: ClusterShell node sets such as ``n[37-54]``."""

import math
import re
from functools import lru_cache

# A file is not trusted: ClusterShell would read its own configuration and run commands for "@group".
ALLOWED = re.compile(r"[A-Za-z0-9_.\-\[\],/ ]+", re.ASCII)
BRACKET = re.compile(r"\[([^\]]*)\]")
MOST = 200_000


def size_most(text: str) -> int:
    """Upper limit of the nodes a node set names, without expanding it: ``n[1-999999999]`` would fill the memory."""
    brackets: list[int] = []
    for body in BRACKET.findall(text):
        size = 0
        for part in body.split(","):
            low, _, high = part.split("/")[0].partition("-")
            if not (low.strip().isdigit() and (not high or high.strip().isdigit())):
                raise ValueError(f'"[{body}]" is no range: write [37-54] or [1,3,5]')
            size += abs(int(high or low) - int(low)) + 1
        brackets.append(size)
    return math.prod(brackets) + text.count(",")


@lru_cache(maxsize=256)
def expand(text: str) -> tuple[str, ...]:
    """Names in a node set, in the set's own (natural) order.

    Raises
    ------
    ValueError
        Not a node set, an empty one, or one of more than 200,000 nodes.
    """
    from ClusterShell.NodeSet import RESOLVER_NOGROUP, NodeSet, NodeSetException  # costs 30 ms

    if not ALLOWED.fullmatch(text) or len(text) > 100_000:
        raise ValueError('no node set: write names and ranges, such as "n[37-54]" or "a1,b[1-4]"')
    if size_most(text) > MOST:
        raise ValueError(f"more than {MOST:,} nodes")
    try:
        names = tuple(str(name) for name in NodeSet(text, resolver=RESOLVER_NOGROUP))
    except (NodeSetException, ValueError, IndexError, TypeError, AttributeError) as problem:
        raise ValueError(f"no node set: {problem}") from None
    if not names:
        raise ValueError("an empty node set")
    return names
