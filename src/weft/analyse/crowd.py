# SPDX-License-Identifier: BSD-3-Clause
"""Virtual hosts that share the processors of one machine: their ranks take turns, which is a finding (METHOD 11)."""

from collections.abc import Iterable

from weft.analyse.checks import finding
from weft.analyse.tables.answers import FindingRow
from weft.format import plural
from weft.store.rows import RankRow

REMEDY = "use fewer hosts: short times are the scheduler's"


def crowded(ranks: Iterable[RankRow]) -> list[FindingRow]:
    """A note if ranks on several virtual hosts are more than the processors that they may all use."""
    launches: dict[str, list[RankRow]] = {}
    for row in ranks:
        launches.setdefault(row["launch_id"], []).append(row)
    over = [own for own in launches.values() if len({row["host"] for row in own}) > 1 and len(own) > _processors(own)]
    if not over:
        return []
    worst = max(over, key=len)
    hosts = plural(len({row["host"] for row in worst}), "virtual host")
    shared = plural(_processors(worst), "processor")
    what = f"{len(worst)} ranks on {hosts} share {shared} of this machine"
    where = f"{len(over)} of {plural(len(launches), 'launch')}"
    return [finding("note", "shared-core", where, what, REMEDY)]


def _processors(ranks: Iterable[RankRow]) -> int:
    """Number of processors that some ranks may use; more than any machine's where that is not known."""
    found: set[int] = set()
    for row in ranks:
        for part in filter(None, row["cpus"].split(",")):
            first, _, last = part.partition("-")
            found |= set(range(int(first), int(last or first) + 1))
    return len(found) or 1 << 30
