# SPDX-License-Identifier: BSD-3-Clause
"""What a hypervisor took puts only such outliers in doubt that it could have made, and only those cost the answer."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from made.attributed import pair_times
from made.pairs import Cluster, Faults
from made.pairs_run import make_pairs_run
from made.view import load_view
from weft.analyse.engine import connect
from weft.analyse.floor import Floor
from weft.analyse.make import Found, write_answers
from weft.analyse.outliers.outlier import (
    FEWEST,
    Kind,
    Outlier,
    Sighting,
    doubt_by_samples,
    doubt_by_steal,
    list_few_samples,
    typical_steal,
)
from weft.analyse.pairs.make import make_pair_analysis
from weft.plan.records import Plan
from weft.plan.stored import plan_of
from weft.report.pair_view import PairView
from weft.run.refresh import write_manifest
from weft.store.folder import RunFolder

NODES, RANKS, WAYS = 8, 16, 4
CLUSTER = Cluster(NODES, 2, 2, uplinks=1, per_pod=2, pod_uplinks=1)


def outlier(kind: Kind, factor: float, pairs: int) -> Outlier:
    return Outlier(kind, "one", "", (Sighting(0, "all", 1.2), Sighting(1 << 18, "isolated", factor)), pairs, detail="d")


def marked(each: Outlier, share: float) -> bool:
    return doubt_by_steal(each, share, NODES * (NODES - 1), RANKS * (RANKS - 1), WAYS).doubted


def test_theft_does_not_put_a_tenfold_cable_in_doubt_but_a_pair_at_the_limit_it_does() -> None:
    cable, pair = outlier("cable", 10.2, 24), outlier("pair", 1.53, 2)
    assert [marked(each, 0.02) for each in (cable, pair)] == [False, True]
    assert [marked(each, 0.0) for each in (cable, pair)] == [False, False]
    assert marked(cable, 0.5)  # who lost half of the time knows nothing


@pytest.mark.parametrize("kind", ["node", "switch", "cable", "link", "leaves", "route", "memory", "rank", "class"])
def test_more_theft_a_smaller_factor_and_fewer_pairs_never_take_a_doubt_away(kind: Kind) -> None:
    for factor, pairs, share in ((3.0, 14, 0.01), (3.0, 14, 0.03), (1.5, 14, 0.01), (1.5, 4, 0.003)):
        if marked(outlier(kind, factor, pairs), share):
            assert marked(outlier(kind, factor, pairs), 2 * share)
            assert marked(outlier(kind, 0.9 * factor, pairs), share)
            assert marked(outlier(kind, factor, pairs - 2), share)


@pytest.mark.parametrize(("kind", "factor"), [("node", 1.1), ("cable", 1.1), ("rank", 1.15), ("pair", 1.5)])
def test_who_is_just_slow_enough_to_be_told_is_put_in_doubt_by_any_theft(kind: Kind, factor: float) -> None:
    assert marked(replace(outlier(kind, factor, 24), sightings=(Sighting(0, "all", factor),)), 1e-6)
    assert not marked(replace(outlier(kind, 1.5 * factor, 24), sightings=(Sighting(0, "all", 1.5 * factor),)), 1e-6)


def test_pairs_of_nodes_are_a_share_of_all_nodes_and_pairs_of_ranks_of_all_ranks() -> None:
    # 14 of 56 pairs of nodes, but only 14 of 240 pairs of ranks
    assert not marked(outlier("node", 2.0, 14), 0.01)
    assert marked(outlier("rank", 2.0, 14), 0.01)


def test_a_doubted_culprit_says_why() -> None:
    found = doubt_by_steal(outlier("pair", 1.53, 2), 0.018, NODES * (NODES - 1), 240, WAYS)
    assert found.statement.endswith("d; in doubt, since the hypervisor took 1.8 % of the time")


@pytest.mark.parametrize(("samples", "doubts"), [((9, 200), True), ((200, 9), True), ((10, 200), False)])
def test_a_single_pair_of_too_few_samples_in_either_direction_is_in_doubt(
    tmp_path: Path, samples: tuple[int, int], doubts: bool
) -> None:
    pair = Outlier("pair", "one", "", (Sighting(0, "all", 3.0),), 2, detail="d", indices=(1, 9))
    ends = ((1, 9, samples[0]), (9, 1, samples[1]), (1, 2, 3), (2, 9, 3))
    cluster, counts = Cluster(5, 2, per_leaf=5), {(one, other): n for one, other, n in ends}
    made = [row for row in cluster.pairs(modes={"all": 1.0}).to_pylist() if (row["source"], row["target"]) in counts]
    made = [row | {"samples": counts[row["source"], row["target"]]} for row in made]
    few = list_few_samples(
        pair_times(tmp_path, cluster, pa.Table.from_pylist(made, schema=cluster.pairs().schema)), [pair]
    )
    assert doubt_by_samples(pair, few).doubted is doubts
    if doubts:
        assert doubt_by_samples(pair, few).statement.endswith(f"d; in doubt, with fewer than {FEWEST} samples")
    assert not doubt_by_samples(replace(pair, kind="rank"), few).doubted
    assert not doubt_by_samples(replace(pair, sightings=(Sighting(1, "all", 3.0),)), few).doubted  # of another size


def rows(shares: list[float]) -> Any:
    """Four cells in each launch; the last lost a share of its time."""
    one: Any = {"wall_ns": 10**9, "steal_ns": 0, "warnings": [], "swap_in_pages": 0, "swap_out_pages": 0}
    return [
        one | {"cell": cell, "launch": launch, "launch_id": f"g000.l{launch}", "steal_ns": round(lost * 1e9)}
        for launch, share in enumerate(shares, start=1)
        for cell, lost in (("c000", 0.0), ("c001", 0.0), ("c002", 0.0), ("c003", share))
    ]


@pytest.mark.parametrize(
    ("shares", "counts"),
    [([0.3], 0.3), ([0.3, 0.1], 0.3), ([0.3, 0, 0.1], 0.1), ([0, 0.3, 0, 0], 0), ([0.1, 0.3, 0, 0], 0.1)],
)
def test_theft_counts_in_as_many_launches_as_move_a_median(shares: list[float], counts: float) -> None:
    launches = [f"g000.l{1 + launch}" for launch in range(len(shares))]
    assert typical_steal(rows(shares), launches) == pytest.approx(counts)
    assert typical_steal(rows([*shares, 0.9]), launches) == pytest.approx(counts)  # of another placement


def as_measured(plan: Plan) -> Plan:
    """The plan of a run on the machine itself."""
    return plan.model_copy(update={"planned_fabric": plan.planned_fabric.model_copy(update={"kind": "slurm"})})


@pytest.mark.parametrize(
    ("faults", "grade", "answer"),
    [
        (Faults(senders={5: 8.0}, pairs={(1, 9): 1.9}), "B", "outlier.node"),
        (Faults(pairs={(1, 9): 1.9}), "C", "pairs.inconclusive"),
        (Faults(), "C", "pairs.inconclusive"),
    ],
)
def test_a_run_answers_with_what_stands_and_is_graded_by_it(
    tmp_path: Path, faults: Faults, grade: str, answer: str
) -> None:
    path = make_pairs_run(tmp_path / "run", CLUSTER, faults, sizes=(0,), modes={"isolated": 1.0})
    plan = as_measured(plan_of(RunFolder(path)))
    measured = rows([0.04])
    make_pair_analysis(path, plan, connect(), measured)
    write_answers(path, Found(plan, (), (), (), measured, Floor([]), frozenset({"c000"}), ()))
    write_manifest(RunFolder.open(path))
    view = load_view(path)
    assert view.grade == grade
    first = view.claimed("answer")[0]
    assert (first["id"], first["confidence"]) == (answer, "B" if answer == "outlier.node" else "C")
    pair = [row for row in PairView(view).outliers if row["kind"] == "pair"]
    assert all(row["doubted"] for row in pair)
    assert len(pair) == len(faults.pairs)


@pytest.mark.parametrize(("launches", "answer"), [(3, "outlier"), (1, "pairs")])
def test_a_cable_that_every_launch_shows_stands_however_much_was_stolen(
    tmp_path: Path, launches: int, answer: str
) -> None:
    """Issue 28.2: a tenfold cable was "Not shown" on a busy host."""
    ends = ("leaf1", "pod0-spine0")
    links = {CLUSTER.link(*ends): 10.0, CLUSTER.link(*ends[::-1]): 10.0}
    made: Any = {"sizes": (0,), "modes": {"isolated": 1.0, "all": 1.2}, "launches": launches}
    path = make_pairs_run(tmp_path / "run", CLUSTER, Faults(links=links), **made)
    plan = as_measured(plan_of(RunFolder(path)))
    measured = rows([0.6] * launches)
    make_pair_analysis(path, plan, connect(), measured)
    write_answers(path, Found(plan, (), (), (), measured, Floor([]), frozenset({"c000"}), ()))
    write_manifest(RunFolder.open(path))
    first = load_view(path).claimed("answer")[0]
    assert (first["id"].partition(".")[0], first["confidence"]) == (answer, "B" if launches > 1 else "C")
