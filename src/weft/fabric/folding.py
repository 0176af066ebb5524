# SPDX-License-Identifier: BSD-3-Clause
"""Folding of node names into node sets; `weft.fabric.nodeset` expands them."""

from collections.abc import Iterable

LONGEST_RANGED = 16
LONGEST_TEXT = 60


def fold(names: Iterable[str]) -> str:
    """Names as one node set: ``n[0-3]``. Groups are not resolved, so the site's ClusterShell files have no effect."""
    from ClusterShell.NodeSet import RESOLVER_NOGROUP, NodeSet  # the import takes 30 ms

    return str(NodeSet.fromlist(list(names), resolver=RESOLVER_NOGROUP))


def fold_for_people(names: Iterable[str]) -> str:
    """Names as a node set if it fits one readable line; else the first and the last: ``h-00aa1 ... h-00ff7``."""
    listed = list(names)
    ends = listed[0] if len(listed) == 1 else f"{listed[0]} ... {listed[-1]}"
    # GUIDs do not number nodes: the first and the last name read better than h-00[1234-1240].
    if len(listed[0]) > LONGEST_RANGED:
        return ends
    text = fold(listed)
    return text if len(text) <= LONGEST_TEXT else ends
