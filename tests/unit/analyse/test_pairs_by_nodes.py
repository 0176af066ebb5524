# SPDX-License-Identifier: BSD-3-Clause
"""Pairs of more ranks than fit into memory are analysed by nodes: the same matrices, nodes and slowest pairs."""

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from made.pairs import Cluster, Faults
from made.pairs_run import begin_pairs_run, make_pairs_run, write_pair_tables
from made.view import load_view
from weft.analyse.pairs import findings, matrix
from weft.analyse.pairs.exact import rank_rows
from weft.analyse.pairs.matrix import by_nodes, node_matrix
from weft.analyse.pairs.pair_times import PairFile, read_pair_times
from weft.analyse.pairs.places import locate
from weft.analyse.tables.pairs import CLASSES, MATRIX, NODES, OUTLIERS, WORST
from weft.cli.app import main
from weft.errors import DataError
from weft.report.pair_view import PairView

CLUSTER = Cluster(16, 4, per_leaf=4, per_pod=2)
FAULTS = Faults(senders={5: 2.0}, pairs={(1, 42): 6.0}, flukes=3)
MADE: dict[str, Any] = {"sizes": (0, 262_144), "launches": 2, "modes": {"isolated": 1.0, "all": 1.5}}


@pytest.fixture
def few(monkeypatch: pytest.MonkeyPatch) -> None:
    """Sixteen nodes of four ranks are too many ranks, of which three nodes are read at a time."""
    monkeypatch.setattr(matrix, "MOST_PAIRS", 1000)
    monkeypatch.setattr(matrix, "AT_ONCE", 3 * 4 * 63)


@pytest.mark.parametrize("order", ["block", "cyclic"])
def test_the_median_of_two_nodes_is_that_of_their_pairs_of_ranks(order: str, few: None, tmp_path: Path) -> None:
    begin_pairs_run(tmp_path, CLUSTER)
    write_pair_tables(tmp_path, CLUSTER, [CLUSTER.pairs(FAULTS, **MADE)])
    ranks = np.arange(64, dtype=np.int32)
    node_of = ranks // 4 if order == "block" else ranks % 16
    places = locate(CLUSTER.fabric.hosts, node_of, ranks - ranks, CLUSTER.fabric)
    file = PairFile(tmp_path)
    nodal, nodes = by_nodes(tmp_path, file, file.launches, places, tmp_path / "nodes.parquet")
    assert (nodal.by_nodes, nodes.ranks) == (True, 16)
    for one, other in zip(
        read_pair_times(file, file.launches, places), read_pair_times(nodal, nodal.launches, nodes), strict=True
    ):
        assert one.way == other.way
        for launch in (0, 1):  # each launch is summarised by itself
            expected = node_matrix(one, one._judged(launch)[0], list(one.each("forward_s"))[launch])
            found = node_matrix(other, other._judged(launch)[0], list(other.each("forward_s"))[launch])
            np.testing.assert_allclose(found.time_s, expected.time_s)
            np.testing.assert_allclose(found.forward_s, expected.forward_s)
            assert (found.pairs == expected.pairs).all()
        assert int(next(other.each("samples", np.int64)).sum()) == int(next(one.each("samples", np.int64)).sum())


def test_a_run_by_nodes_names_the_same_node_and_the_slowest_pair_of_ranks(
    tmp_path: Path, few: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    nodal = make_pairs_run(tmp_path / "nodal", CLUSTER, FAULTS, **MADE)
    monkeypatch.undo()
    whole = make_pairs_run(tmp_path / "whole", CLUSTER, FAULTS, **MADE)
    assert not list((nodal / "tables").glob(".pairs-*"))
    named = {(row["kind"], row["name"]) for row in OUTLIERS.read(whole)}
    assert ("node", "n05") in named
    assert {each for each in named if each[0] == "node"} == {(r["kind"], r["name"]) for r in OUTLIERS.read(nodal)}
    for table, columns in ((NODES, ("name", "ranks")), (CLASSES, ("class", "ranks", "pairs", "samples"))):
        assert [[row[name] for name in columns] for row in table.read(nodal)] == [  # type: ignore[literal-required]
            [row[name] for name in columns] for row in table.read(whole)  # type: ignore[literal-required]
        ]  # fmt: skip
    with monkeypatch.context() as patch:
        patch.setattr(findings, "MOST_PAIRS", 1000)
        assert "by-nodes" in {each["rule"] for each in findings.pair_findings(nodal, load_view(nodal).plan)}
    assert "by-nodes" not in {each["rule"] for each in load_view(whole).findings}
    assert [row["name"] for row in NODES.read(nodal) if row["place"] == 1] == ["n05"]
    first, same = WORST.read(nodal)[0], WORST.read(whole)[0]
    assert {first["source"], first["target"]} == {same["source"], same["target"]} == {1, 42}
    assert {first["source_name"], first["target_name"]} == {"n00", "n10"}
    assert len(MATRIX.read(nodal)) == len(MATRIX.read(whole))
    blocks, side = PairView(load_view(nodal)).blocks(0, "isolated")
    assert (blocks.shape, side) == ((16, 16), 4)
    assert np.unravel_index(int(np.nanargmax(blocks)), blocks.shape) in {(0, 10), (10, 0)}


def test_the_ranks_of_two_nodes_are_listed_the_slowest_first(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = make_pairs_run(tmp_path / "run", CLUSTER, Faults(ranks={42: 3.0}, pairs={(1, 43): 9.0}))
    rows = rank_rows(run, ("n00", "n10"))
    assert len(rows) == 8
    assert (rows[0]["rank"], rows[0]["node"], rows[0]["pairs"]) == (42, "n10", 8)
    assert rows[0]["factor"] == pytest.approx(3.0, rel=0.1)
    (row,) = [row for row in rows if row["rank"] == 43]
    assert (row["slowest_with"], row["slowest_s"] / row["median_s"]) == (1, pytest.approx(9.0, rel=0.1))
    with pytest.raises(DataError, match="no node 'n99'"):
        rank_rows(run, ("n00", "n99"))
    assert main(["show", str(run), "--between", "n00", "n10"]) == 0
    table = capsys.readouterr().out.rpartition("between n00 and n10")[2]
    assert next(line.split("|")[2].strip() for line in table.splitlines() if " on n" in line) == "42 on n10"


def test_two_nodes_that_never_met_are_named(tmp_path: Path) -> None:
    begin_pairs_run(tmp_path, CLUSTER)
    met = CLUSTER.pairs()
    apart = (met["source"].to_numpy() >= 8) & (met["target"].to_numpy() >= 8)
    write_pair_tables(tmp_path, CLUSTER, [met.filter(pa.array(apart))])
    with pytest.raises(DataError, match="no ranks of n00 and n01 were measured with each other"):
        rank_rows(tmp_path, ("n00", "n01"))
