# SPDX-License-Identifier: BSD-3-Clause
"""Node names written short, as node sets; `weft.fabric.nodeset` expands them."""

from collections.abc import Iterable

LONGEST_RANGED = 16
LONGEST_TEXT = 60


def fold(names: Iterable[str]) -> str:
    """Names as one node set: ``n[0-3]``. No group is looked up, so the site's ClusterShell files change nothing."""
    from ClusterShell.NodeSet import RESOLVER_NOGROUP, NodeSet  # costs 30 ms

    return str(NodeSet.fromlist(list(names), resolver=RESOLVER_NOGROUP))


def fold_for_people(names: Iterable[str]) -> str:
    """Names as a node set of one readable line; otherwise the first and the last: ``h-00aa1 ... h-00ff7``."""
    listed = list(names)
    ends = listed[0] if len(listed) == 1 else f"{listed[0]} ... {listed[-1]}"
    # A GUID is no range of nodes: h-00[1234-1240] reads worse than its first and last name.
    if len(listed[0]) > LONGEST_RANGED:
        return ends
    text = fold(listed)
    return text if len(text) <= LONGEST_TEXT else ends
