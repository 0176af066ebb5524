# SPDX-License-Identifier: BSD-3-Clause
"""Pairs that are measured at the same time share links: each is judged beside pairs of rounds that load them as much.

The schedule of rounds and the routes are known, so the load of a pair is known, too: the most flows of its round over
one link of its way there or back, or the mean of both ways, which a round trip takes one after the other. A torus, a
dragonfly or narrow uplinks load the links of one round unequally, which makes some pairs several times as slow as
others of their class, and nothing is at fault. Flows are counted, whatever rate the fabric file states for a link: a
cable that is stated to be slow is slow.
"""

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from weft.analyse.engine import Expression
from weft.analyse.pairs.places import Places
from weft.fabric.network.follow import walk
from weft.kernel.tournament import PairSchedule
from weft.store.files import Table

ALONE = "isolated"
TOGETHER = "all"
"""The mode in which all pairs of a round are measured at once."""
KEY = ["bytes", "mode", "class_"]
MOST_RANKS = 2048  # of more, working out all rounds and joining their loads would take longer than the rest


def round_loads(places: Places, *, mean: bool = False) -> Table | None:
    """The load of every two ranks in their own round: source, target, load (flows on one link).

    None where routes are unknown, or where all pairs of a class are loaded alike. ``mean``: of both ways, not the more
    crowded one.
    """
    if not places.routed or places.ranks > MOST_RANKS or len(places.nodes) < 2:
        return None
    schedule = PairSchedule(places.node_of)
    found = [_of_round(places, schedule.pairs(number), mean) for number in range(schedule.between)]
    if not found:
        return None
    source, target, load = (np.concatenate(column) for column in zip(*found, strict=True))
    group = places.classes[places.node_of[source], places.node_of[target]]
    if all(len(np.unique(load[group == one])) == 1 for one in np.unique(group)):
        return None
    both = {
        "source": np.concatenate([source, target]).astype(np.int32),
        "target": np.concatenate([target, source]).astype(np.int32),
        "load": np.concatenate([load, load]),
    }
    return pa.table(both)


def _of_round(
    places: Places, pairs: NDArray[np.int32], mean: bool
) -> tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.float64]]:
    """Sources, targets and loads of the pairs of a round, shape (pairs,) each."""
    source, target = pairs[:, 0], pairs[:, 1]
    hosts = places.host[places.node_of]
    ways = [walk(places.network, hosts[one], hosts[other]) for one, other in ((source, target), (target, source))]
    loads: list[NDArray[np.float64]] = []
    for way in ways:
        flows = np.bincount(way[way >= 0], minlength=len(places.network.links))
        loads.append(np.where(way >= 0, flows[way], 0.0).max(axis=1))
    return source, target, (loads[0] + loads[1]) / 2 if mean else np.maximum(*loads)


def by_load(placed: Expression, places: Places, *, mean: bool = False) -> Expression:
    """The times as they would be if each pair had the load that is the least of its class.

    A load of so many times as many flows explains a time so many times as long, and no more; of that it explains what
    the medians of the two loads differ by. So what slows few of its pairs, or all of them by more, stays to be found.
    """
    import ibis

    table = round_loads(places, mean=mean)
    if table is None:
        return placed
    loads = ibis.memtable(table)
    loaded = placed.left_join(loads, ["source", "target"])[[*placed.columns, "load"]]
    loaded = loaded.mutate(load=ibis.ifelse(loaded.mode == TOGETHER, loaded.load.fill_null(0.0), 0.0))
    usual = loaded.group_by([*KEY, "load"]).agg(usual_s=loaded.time_s.median())
    least = usual.group_by(KEY).agg(least_load=usual.load.min())
    lowest = least.inner_join(usual.rename(least_load="load", least_s="usual_s"), [*KEY, "least_load"])
    known = loaded.inner_join(usual, [*KEY, "load"]).inner_join(lowest, KEY)
    most = known.least_load / ibis.greatest(known.load, 1.0)
    factor = ibis.ifelse(
        known.load > known.least_load, ibis.least(1.0, ibis.greatest(known.least_s / known.usual_s, most)), 1.0
    )
    scaled = known.mutate(time_s=known.time_s * factor, forward_s=known.forward_s * factor)
    return scaled[[*placed.columns]]
