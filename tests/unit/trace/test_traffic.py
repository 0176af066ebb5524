# SPDX-License-Identifier: BSD-3-Clause
"""What a trace sent feeds routes, placement and tuning: exact amounts, and other nodes for another application."""

import json
from pathlib import Path

import numpy as np
import pytest

from made.routes import routes, tree
from made.traces import MadeRank
from weft.cli.app import main
from weft.errors import DataError, FabricError
from weft.fabric import load_fabric
from weft.fabric.importing import import_dump
from weft.route.place import between_nodes, place
from weft.trace.events import block_sizes_of_trace, traffic_of_trace
from weft.tune.whole import Tuning

DATA = Path(__file__).parents[2] / "data" / "networks"


def traced(folder: Path, ranks: int = 4) -> Path:
    """Ranks 0 and 1 exchange much, as 2 and 3 do; an all-to-all of 8 B blocks; a broadcast that is in no matrix."""
    for rank in range(ranks):
        one = MadeRank(rank, ranks)
        one.call("MPI_Isend", 10, 20, peer=rank ^ 1, bytes=1_000_000, request=1)
        one.call("MPI_Recv", 20, 30, peer=rank ^ 1, received=1_000_000)
        one.call("MPI_Wait", 30, 40, comm=0).call("completion", 30, 40, peer=rank ^ 1, bytes=1_000_000, request=1)
        one.call("MPI_Alltoall", 40, 50, bytes=8 * ranks, received=8 * ranks)
        one.call("MPI_Bcast", 50, 60, peer=0, **{"received" if rank else "bytes": 1 << 30})
        one.write(folder / "raw")
    return folder


def told(capsys: pytest.CaptureFixture[str], *words: str) -> dict[str, object]:
    assert main([*words, "--format", "json"]) == 0
    return json.loads(capsys.readouterr().out)


def test_routes_carry_what_a_trace_sent(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    import_dump(DATA / "small-subnet.lst", tmp_path / "small.toml", tables=DATA / "small-lfts.dump")
    run, amounts = traced(tmp_path / "run"), tmp_path / "amounts.txt"
    sent = 8 * (1 - np.eye(4)) + 1_000_000 * np.eye(4)[[1, 0, 3, 2]]
    np.savetxt(amounts, sent, fmt="%d")
    hosts = load_fabric(str(tmp_path / "small.toml")).hosts[:4]
    words = ("route", "show", str(tmp_path / "small.toml"), "--placement", ",".join(hosts))
    assert told(capsys, *words, "--traffic", str(run)) == told(capsys, *words, "--matrix", str(amounts))
    other = traced(tmp_path / "other", 2)
    assert main(["route", "show", str(tmp_path / "small.toml"), "--traffic", str(other)]) == 2
    assert "--placement" in capsys.readouterr().err


def test_the_best_nodes_for_a_trace_are_not_those_for_an_all_to_all() -> None:
    found = routes(tree(8, 4, 1))  # two leaves of four hosts, one uplink each
    pairs = np.kron(np.eye(2), np.ones((2, 2))).astype(np.float64)  # nodes 0 and 1 exchange, 2 and 3 too
    whole, paired = place(found, 4), place(found, 4, sent=between_nodes(pairs, 4))
    assert (whole.worst.all_to_all, paired.best.all_to_all) == (4 / 3, 1.0)
    halves = place(found, 4, sent=between_nodes(np.kron(1 - np.eye(2), np.ones((2, 2))).astype(np.float64), 4))
    assert halves.worst.all_to_all == 2.0  # each half on a leaf, all of it over one uplink
    assert paired.traffic == "the traced messages"


def test_ranks_fill_nodes_in_order() -> None:
    sent = np.arange(16.0).reshape(4, 4)
    assert between_nodes(sent, 2).tolist() == [[0, 2 + 3 + 6 + 7], [8 + 9 + 12 + 13, 0]]
    with pytest.raises(FabricError, match="cannot share"):
        between_nodes(sent, 3)
    with pytest.raises(FabricError, match="send nothing"):
        between_nodes(np.eye(2), 2)


def test_place_takes_a_trace(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = traced(tmp_path / "run")
    assert main(["place", "tara", "--nodes", "4", "--free", "n[1-8]", "--traffic", str(run)]) in (0, 2)
    assert main(["place", "yellowstone", "--nodes", "3", "--traffic", str(run)]) == 2
    assert "cannot share" in capsys.readouterr().err


def test_tune_takes_the_sizes_of_a_trace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[tuple[str, ...]] = []

    def predict(tuning: Tuning) -> int:
        seen.append(tuning.what.sizes)
        return 0

    monkeypatch.setattr(Tuning, "predict", predict)
    run = str(traced(tmp_path / "run"))
    assert main(["tune", "--predict", "--ranks-per-node", "2", "--sizes", "1KiB", "--traffic", run]) == 0
    assert seen == [("1KiB", "8 B")]


def test_a_trace_without_messages_is_said(tmp_path: Path) -> None:
    MadeRank(0, 1).call("MPI_Barrier", 1, 2).write(tmp_path / "raw")
    with pytest.raises(DataError, match="no messages"):
        traffic_of_trace(tmp_path)
    with pytest.raises(DataError, match="no MPI_Alltoall"):
        block_sizes_of_trace(tmp_path)
