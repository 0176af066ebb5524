# SPDX-License-Identifier: BSD-3-Clause
"""The load of a pair in its round: flows are counted link by link, however few rounds are followed."""

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from made.attributed import outliers_of, pair_times
from made.pairs import Cluster
from weft.analyse.outliers.remainders import crossing_factors, round_loads
from weft.analyse.pairs.pair_times import Ends
from weft.analyse.pairs.places import Places, locate
from weft.kernel.tournament import PairSchedule


def counted(places: Places) -> dict[tuple[int, int], float]:
    """The load of each pair, by following every pair of every round."""
    found = dict[tuple[int, int], float]()
    schedule = PairSchedule(places.node_of)
    for number in range(schedule.between):
        pairs = [(a, b) for a, b in schedule.pairs(number).tolist()]
        hosts = {rank: int(places.host[places.node_of[rank]]) for pair in pairs for rank in pair}
        for way in (1, -1):
            routes = [places.network.route(*(hosts[rank] for rank in pair[::way])) for pair in pairs]
            flows = np.bincount([link for route in routes for link in route])
            for (a, b), route in zip(pairs, routes, strict=True):
                load = max(float(flows[link]) for link in route)
                found[a, b] = found[b, a] = max(load, found.get((a, b), 0.0) if way < 0 else 0.0)
    return found


SHAPES = {"even": [4] * 6, "halves": [2] * 5, "one rank": [1] * 4, "odd": [3] * 7, "unequal": [2, 4, 1, 3, 2]}


@pytest.mark.parametrize("shape", SHAPES)
def test_the_load_of_each_pair_is_that_of_its_round(shape: str) -> None:
    sizes = SHAPES[shape]
    fabric = Cluster(len(sizes), max(sizes), per_leaf=2, uplinks=1, per_pod=2, pod_uplinks=1).fabric
    node_of = np.repeat(np.arange(len(sizes), dtype=np.int32), sizes)
    local = np.concatenate([np.arange(size, dtype=np.int32) for size in sizes])
    places = locate(fabric.hosts, node_of, local, fabric)
    source, target = (each.astype(np.int32) for each in np.nonzero(~np.eye(places.ranks, dtype=bool)))
    ends, loads = Ends(source, target, places), counted(places)
    expected = np.array([loads.get(pair, 0.0) for pair in zip(source.tolist(), target.tolist(), strict=True)])
    found = round_loads(ends)
    if found is None:
        assert all(len(set(expected[ends.kind == kind].tolist())) == 1 for kind in np.unique(ends.kind))
    else:
        assert found.tolist() == expected.tolist()
    assert (found is None) == (shape in ("even", "one rank")), "all pairs of a class are loaded alike"


def test_a_pair_that_meets_others_on_their_way_there_as_it_comes_back_is_not_slow(tmp_path: Path) -> None:
    # Of 1,024 simulated ranks two pairs were called slow at 1.58x: done early on an empty way, they came back on a
    # cable over which two others of their round still went there.
    cluster = Cluster(48, 1, per_leaf=4, uplinks=2, per_pod=2, pod_uplinks=4)
    made = cluster.pairs(modes={"all": 1.0})
    (times,) = pair_times(tmp_path, cluster, made)
    loads, crossing = round_loads(times.ends), crossing_factors(times)
    assert loads is not None
    assert crossing is not None
    late = int(np.flatnonzero(crossing == crossing.max())[0])
    assert (crossing[late], loads[late]) == (2, 1)
    for factor, named in ((1.9, 0), (2.6, 1)):
        median = made["median_s"].to_numpy() * loads
        median[late] *= factor
        place = made.column_names.index("median_s")
        found = outliers_of(tmp_path, cluster, made.set_column(place, "median_s", pa.array(median)))
        assert [each.kind for each in found] == ["pair"] * named
