# SPDX-License-Identifier: BSD-3-Clause
"""Skewed all-to-alls: matrices that are as uneven as asked, cells for each skew, and bounds of the very matrix."""

from typing import Any

import numpy as np
import pytest

from weft.bound.links import link_term
from weft.bound.placed import terms_of
from weft.bound.terms import PlacedCell
from weft.errors import StudyError
from weft.fabric import Fabric, load_fabric
from weft.host import Host, Limit
from weft.kernel import Shape
from weft.kernel.collective import Collective
from weft.kernel.collective.traffic import traffic_at, weights_of
from weft.kernel.studies import make_study
from weft.kernel.traffic import MatrixTraffic, skewed_weights
from weft.plan.make import make_plan
from weft.study import Study

MB = 1_000_000
HOST = Host("here", 4, 2**34, (Limit(2**34, "MemAvailable"),))


@pytest.mark.parametrize("pattern", ["hot", "zipf", "moe"])
@pytest.mark.parametrize("ranks", [2, 7, 64])
@pytest.mark.parametrize("skew", [1, 1.5, 2])
def test_the_busiest_receiver_has_the_skew_and_others_are_as_even_as_said(
    pattern: str, ranks: int, skew: float
) -> None:
    weights = skewed_weights(f"{pattern}{skew:g}", ranks)
    columns, rows = weights.sum(axis=0), weights.sum(axis=1)
    assert weights.max() == 1_000_000
    assert columns.max() / columns.mean() == pytest.approx(skew, rel=2e-3)
    assert rows.max() / rows.mean() == pytest.approx(skew if pattern == "zipf" else 1, rel=2e-3)
    if pattern == "hot":
        assert len(np.unique(np.sort(columns)[:-1])) == 1


def test_senders_of_a_gate_differ_where_those_of_zipf_do_not() -> None:
    shares = {name: skewed_weights(f"{name}2", 16) / skewed_weights(f"{name}2", 16).sum(axis=1)[:, np.newaxis]
              for name in ("zipf", "moe")}  # fmt: skip
    assert shares["zipf"].std(axis=0).max() < 1e-3
    assert shares["moe"].std(axis=0).min() > 1e-2


def test_a_matrix_is_the_same_at_every_call_and_a_skew_over_the_ranks_is_theirs() -> None:
    first = skewed_weights("moe3", 12).copy()
    skewed_weights.cache_clear()
    assert (skewed_weights("moe3", 12) == first).all()
    assert (skewed_weights("hot9", 4) > 0).sum() == 4  # one column has all


WEIGHTS = np.array([[0, 1, 8, 2], [4, 0, 1, 8], [1, 2, 0, 1], [2, 1, 4, 0]])


def matrix(cyclic: bool = False) -> MatrixTraffic:
    return MatrixTraffic(8 * MB, 4, WEIGHTS, cyclic=cyclic)


@pytest.mark.parametrize("cyclic", [False, True])
def test_bytes_between_nodes_are_those_of_their_ranks(cyclic: bool) -> None:
    node = np.arange(4) % 2 if cyclic else np.arange(4) // 2
    expected = [[int(WEIGHTS[np.ix_(node == a, node == b)].sum()) * MB for b in range(2)] for a in range(2)]
    traffic = matrix(cyclic)
    assert traffic.between(2, 2) == expected
    assert traffic.staying(2, 2) == max(expected[0][0], expected[1][1])
    assert traffic.leaving([0], 2, 2) == traffic.leaving([1], 2, 2) == max(expected[0][1], expected[1][0])


def test_the_bound_is_the_busiest_of_rows_columns_links_and_copies() -> None:
    fabric = Fabric.model_validate({
        "name": "f", "kind": "simulated",
        "node": {"names": "n[0-3]", "cores": 4, "copy_rate": "100 GB/s"},
        "network": {"adapter_rate": "1 GB/s", "topology": "fat-tree",
                    "tree": {"nodes_per_leaf": 2, "uplinks": 1, "link_rate": "1.25 GB/s"}},
    })  # fmt: skip
    cell = PlacedCell("collective", 4, 1, 4, ("n0", "n1", "n2", "n3"), {})
    terms = terms_of(matrix(), cell, fabric)
    assert terms["injection"] == pytest.approx(13e-3)  # the row of rank 1: 4 + 1 + 8; the busiest column has 13 too
    assert terms["link leaf0 up"] == pytest.approx(19e-3 / 1.25)  # 8 + 2 + 1 + 8 from ranks 0 and 1 to 2 and 3


def on_leaves(**tree: Any) -> Fabric:
    """Four hosts on two leaves whose uplinks have half of their hosts' rate."""
    network = {"topology": "fat-tree", "adapter_rate": "1 GB/s", **tree,
               "tree": {"nodes_per_leaf": 2, "uplinks": 1, "link_rate": "1 GB/s"}}  # fmt: skip
    node = {"names": "n[0-3]", "cores": 4}
    return Fabric.model_validate({"name": "f", "kind": "simulated", "node": node, "network": network})


@pytest.mark.parametrize("rates", [{}, {"leaf1 - spine0": "0.9 GB/s", "leaf0 - spine0": "0.9 GB/s"}])
@pytest.mark.parametrize("hot", [0, 3])
def test_a_hot_receiver_is_limited_by_its_down_link_and_a_hot_sender_by_its_up_link(
    rates: dict[str, str], hot: int
) -> None:
    weights = np.ones((4, 4), dtype=np.int64)
    weights[:, hot] = 8
    cell = PlacedCell("collective", 4, 1, 4, ("n0", "n1", "n2", "n3"), {})
    for way, matrix in (("down", weights), ("up", weights.T)):
        terms = link_term(MatrixTraffic(8 * MB, 4, matrix), cell, on_leaves(rates=rates))
        moved = 18e-3 / (0.9 if rates else 1.0)  # 8 + 8 to or from the hot one, 1 + 1 to or from the one beside it
        assert terms == {f"link leaf{hot // 2} {way}": pytest.approx(moved)}


@pytest.mark.parametrize(
    ("slow", "name"), [("leaf0 -> spine0", "link leaf0 up"), ("spine0 -> leaf0", "link leaf0 down")]
)
def test_bytes_into_a_leaf_take_the_rate_of_the_cable_into_it(slow: str, name: str) -> None:
    cell = PlacedCell("collective", 4, 1, 4, ("n0", "n1", "n2", "n3"), {})
    terms = link_term(MatrixTraffic(MB, 4, np.ones((4, 4), dtype=np.int64)), cell, on_leaves(rates={slow: "0.1 GB/s"}))
    assert terms == {name: pytest.approx(4e-3 / 0.1)}


def study(**section: Any) -> Study:
    chosen = {"collectives": ["Alltoallv"], "sizes": ["8 KiB"], "patterns": ["equal", "hot"], "skew": [1, 4], **section}
    series = {"name": "a", "nodes": [2], "ranks_per_node": 4}
    return make_study({"name": "s", "kernel": "collective", "collective": chosen, "series": [series]}, "s.toml")


def test_each_skew_is_a_cell_whose_mean_block_is_the_size_of_the_study() -> None:
    node = {"names": "n[1-2]", "cores": 4, "memory": "4 GiB", "copy_rate": "5 GB/s"}
    network = {"topology": "star", "adapter_rate": "1 GB/s"}
    where = Fabric.model_validate({"name": "f", "kind": "slurm", "node": node, "network": network})
    cells = [cell for cell in make_plan(study(), where, host=HOST).cells if cell.kernel == "collective"]
    found = {cell.parameters["pattern"]: cell for cell in cells}
    assert list(found) == ["equal", "hot1", "hot4"]
    injected: list[float] = []
    for name in ("hot1", "hot4"):
        cell = found[name]
        weights = weights_of(cell.parameters, 8)
        assert weights is not None
        (largest,) = cell.parameters["bytes"]
        assert largest * weights.mean() / weights.max() == pytest.approx(8192, rel=1e-3)
        (op,) = (each for each in cell.bounds if each.startswith("alltoallv"))
        assert op == f"alltoallv-{name}@{largest}"
        injected.append(cell.bounds[op].terms["injection"])
        assert injected[-1] == pytest.approx(traffic_at(cell.parameters, largest, 8).leaving([0], 2, 4) / 1e9)
        assert Collective().flat(cell.parameters)["weights"] == weights.ravel().tolist()
    assert injected[1] > 1.4 * injected[0]  # half of all goes to one rank


@pytest.mark.parametrize(
    ("keys", "why"),
    [({"skew": []}, "go together"), ({"patterns": ["equal"]}, "go together"), ({"skew": [2, 2]}, "go together"),
     ({"skew": [0.5]}, "0.5")],
)  # fmt: skip
def test_a_skew_without_a_pattern_or_below_one_is_refused(keys: dict[str, Any], why: str) -> None:
    with pytest.raises(StudyError, match=why):
        study(**keys)


def test_a_skew_that_so_few_ranks_cannot_have_is_a_note() -> None:
    what = study(skew=[2, 9])
    found = Collective().sweep(what, what.series[0], [Shape(2, 4)], load_fabric("tara"))
    assert [values.get("pattern") for _, values in found.values] == ["equal", "hot2"]
    assert any("skew over 8" in note for note in found.notes)
