# SPDX-License-Identifier: BSD-3-Clause
"""Pairs of more ranks than fit into memory are analysed by nodes: the same matrices, nodes and slowest pairs."""

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from made.pairs import Cluster, Faults
from made.pairs_run import analyse_pairs_run, begin_pairs_run, make_pairs_run, write_pair_tables
from made.run import make_run
from made.view import load_view
from weft.analyse.pairs import make, matrix
from weft.analyse.pairs.hop_tables import rank_rows
from weft.analyse.pairs.matrix import by_nodes, node_matrix
from weft.analyse.pairs.pair_times import PairFile, read_pair_times
from weft.analyse.pairs.places import locate
from weft.analyse.tables.pairs import CLASSES, COLD, CONTENTION, MATRIX, NODES, OUTLIERS, WORST
from weft.cli.app import main
from weft.errors import DataError, WeftError
from weft.report.figures.pairs import pair_figures
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
    assert "by-nodes" in {each["rule"] for each in load_view(nodal).findings}
    assert "by-nodes" not in {each["rule"] for each in load_view(whole).findings}
    assert [row["name"] for row in NODES.read(nodal) if row["place"] == 1] == ["n05"]
    first, same = WORST.read(nodal)[0], WORST.read(whole)[0]
    assert {first["source"], first["target"]} == {same["source"], same["target"]} == {1, 42}
    assert {first["source_name"], first["target_name"]} == {"n00", "n10"}
    assert len(MATRIX.read(nodal)) == len(MATRIX.read(whole))
    blocks, side = PairView(load_view(nodal)).blocks(0, "isolated")
    assert (blocks.shape, side) == ((16, 16), 1)
    assert np.unravel_index(int(np.nanargmax(blocks)), blocks.shape) in {(0, 10), (10, 0)}


def test_by_nodes_numbers_are_those_of_pairs_of_ranks_or_none(
    tmp_path: Path, few: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    one = MADE | {"launches": 1}  # of several, the median is taken of each pair of ranks, or of nodes
    nodal = make_pairs_run(tmp_path / "nodal", CLUSTER, FAULTS, **one)
    monkeypatch.undo()
    whole = make_pairs_run(tmp_path / "whole", CLUSTER, FAULTS, **one)
    for table, same, none in (
        (CLASSES, ("pairs", "samples", "broken", "min_s", "mean_s", "max_s", "least_s", "most_s"), ("p99_s", "slow")),
        (COLD, ("pairs", "max_s", "total_s"), ()),
        (CONTENTION, ("pairs",), ("p5", "p95", "max")),
    ):
        for row, other in zip(table.read(nodal), table.read(whole), strict=True):
            assert [row[key] for key in same] == pytest.approx([other[key] for key in same], rel=1e-6)  # type: ignore[literal-required]
            assert [row[key] for key in none] == [None] * len(none)  # type: ignore[literal-required]
            assert None not in [other[key] for key in none if key != "p99_s"]  # type: ignore[literal-required]
    assert max(row["max_s"] / row["median_s"] for row in CLASSES.read(nodal)) > 5  # the pair that is 6x slower
    assert main(["show", str(nodal), "--all"]) == 0


def test_a_pair_of_nodes_is_not_named_as_ranks(tmp_path: Path, few: None) -> None:
    slow = {(a, b): 6.0 for a in range(4, 8) for b in range(40, 44)}
    begin_pairs_run(tmp_path, CLUSTER)
    pairs = CLUSTER.pairs(Faults(), sizes=(0,))
    way = [(int(a), int(b)) in slow for a, b in zip(pairs["source"], pairs["target"], strict=True)]  # one direction
    for name in ("median_s", "min_s", "max_s"):
        at = pairs.schema.get_field_index(name)
        pairs = pairs.set_column(at, name, pa.array(np.where(way, 6.0, 1.0) * pairs[name].to_numpy()))
    write_pair_tables(tmp_path, CLUSTER, [pairs])
    analyse_pairs_run(tmp_path)
    assert "pair" not in {row["kind"] for row in OUTLIERS.read(tmp_path)}


def test_the_slowest_pair_and_its_time_are_of_one_launch(tmp_path: Path, few: None) -> None:
    begin_pairs_run(tmp_path, CLUSTER)
    made = [CLUSTER.pairs(Faults(pairs={pair: factor}), launches=3, seed=1)
            for pair, factor in (((1, 42), 9.0), ((2, 41), 7.0), ((3, 40), 5.0))]  # fmt: skip
    own = [each.filter(pa.array(each["launch"].to_numpy() == launch)) for launch, each in enumerate(made, 1)]
    write_pair_tables(tmp_path, CLUSTER, own)
    analyse_pairs_run(tmp_path)
    first = WORST.read(tmp_path)[0]
    assert ({first["source"], first["target"]}, first["factor"]) == ({2, 41}, pytest.approx(7, rel=0.15))


def test_a_launch_without_the_pair_gives_no_rank(tmp_path: Path, few: None) -> None:
    begin_pairs_run(tmp_path, CLUSTER)
    pairs = CLUSTER.pairs(Faults(pairs={(1, 42): 6.0}), launches=2)
    first = pairs["launch"].to_numpy() == 1
    between = np.isin(pairs["source"].to_numpy() // 4, (0, 10)) & np.isin(pairs["target"].to_numpy() // 4, (0, 10))
    write_pair_tables(tmp_path, CLUSTER, [pairs.filter(pa.array(~(first & between)))])
    analyse_pairs_run(tmp_path)
    assert {WORST.read(tmp_path)[0][end] for end in ("source", "target")} == {1, 42}  # type: ignore[literal-required]


def test_nothing_in_the_scratch_folder_is_open_when_it_goes(
    tmp_path: Path, few: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    held: list[str] = []

    class Watched(TemporaryDirectory[str]):
        def cleanup(self) -> None:
            links = [each.readlink() for each in Path("/proc/self/fd").iterdir() if each.is_symlink()]
            held.extend(str(each) for each in links if str(each).startswith(self.name))
            super().cleanup()

        def __exit__(self, *_: object) -> None:
            self.cleanup()

    monkeypatch.setattr(make, "TemporaryDirectory", Watched)
    make_pairs_run(tmp_path, CLUSTER, FAULTS, **MADE)
    assert held == []


def test_a_disk_that_is_full_is_named(tmp_path: Path, few: None) -> None:
    begin_pairs_run(tmp_path, CLUSTER)
    write_pair_tables(tmp_path, CLUSTER, [CLUSTER.pairs(FAULTS)])
    (tmp_path / "0").symlink_to("/dev/full")
    file = PairFile(tmp_path)
    with pytest.raises(WeftError, match=f"the disk is full: cannot write {tmp_path}/0"):
        by_nodes(tmp_path, file, file.launches, CLUSTER.places, tmp_path / "nodes.parquet")


def test_each_row_group_is_read_once(tmp_path: Path, few: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("made.pairs.MOST_ROWS", 64 * 12)  # three rounds of nodes at a time, each with all sources
    begin_pairs_run(tmp_path, CLUSTER)
    write_pair_tables(tmp_path, CLUSTER, CLUSTER.many_pairs(Faults(senders={5: 2.0})))
    file, reads = PairFile(tmp_path), list[int]()
    assert file._file.num_row_groups == 6
    real = file._file.read_row_group

    class Counted:
        metadata = file._file.metadata

        def read_row_group(self, group: int, columns: list[str], use_threads: bool) -> pa.Table:
            reads.extend([group] * (columns == ["median_s"]))
            return real(group, columns, use_threads=use_threads)

    file._file = Counted()  # type: ignore[assignment]
    by_nodes(tmp_path, file, file.launches, CLUSTER.places, tmp_path / "nodes.parquet")
    assert reads == [0, 1, 2, 3, 4, 5]


def test_the_picture_of_ranks_has_a_row_for_each_node_of_unequal_ranks(
    tmp_path: Path, few: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    view = PairView(load_view(make_pairs_run(tmp_path, CLUSTER, FAULTS, **MADE)))
    view.on_node = [4] * 15 + [1]
    shown: list[Any] = []
    monkeypatch.setattr("weft.report.figures.pairs.matrix_picture", lambda *given: shown.append(given[-1]))
    pair_figures(view)
    matrix = shown[0]
    assert (matrix.block, len(matrix.values), list(matrix.parts)) == (1, 16, [1] * 16)


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


def test_what_cannot_be_listed_is_refused_before_anything_is_printed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = make_pairs_run(tmp_path / "run", CLUSTER)
    for option in (["--exact"], ["--between", "n00", "n10"]):
        assert main(["show", str(run), *option, "--format", "json"]) == 1
    assert main(["show", str(run), "--between", "n00", "n99"]) == 1
    other = make_run(tmp_path / "other")
    assert main(["show", str(other), "--between", "n00", "n10"]) == 1
    captured = capsys.readouterr()
    assert (captured.out, "other measured no pairs" in captured.err) == ("", True)


def test_two_nodes_that_never_met_are_named(tmp_path: Path) -> None:
    begin_pairs_run(tmp_path, CLUSTER)
    met = CLUSTER.pairs()
    apart = (met["source"].to_numpy() >= 8) & (met["target"].to_numpy() >= 8)
    write_pair_tables(tmp_path, CLUSTER, [met.filter(pa.array(apart))])
    with pytest.raises(DataError, match="no ranks of n00 and n01 were measured with each other"):
        rank_rows(tmp_path, ("n00", "n01"))
