# SPDX-License-Identifier: BSD-3-Clause
"""What a script's ranks send to each other: on sub-communicators, too, and in vector calls."""

from pathlib import Path

import numpy as np
import pytest

from made.traces import MadeRank
from weft.errors import DataError
from weft.store.trace.convert import convert_trace
from weft.store.trace.folder import TraceFolder
from weft.store.trace.script import sent_in
from weft.trace.rank_actions import make_script


def script(folder: Path, ranks: list[MadeRank]) -> Path:
    for rank in ranks:
        rank.write(folder / "raw")
    trace = TraceFolder(folder)
    trace.describe(weft="made")
    convert_trace(trace)
    return make_script(trace, folder / "replay.script").path


def test_messages_count_for_the_ranks_of_the_world_that_they_go_to(tmp_path: Path) -> None:
    ranks = [MadeRank(rank, 4) for rank in range(4)]
    for members, uid in (((3, 1), 5), ((2, 0), 6)):  # in this order: rank 3 is the first of the first one
        for rank in members:
            ranks[rank].communicator(9, uid, list(members))
            ranks[rank].call("MPI_Alltoall", 0, 1, comm=9, bytes=20, received=20)  # 10 to each
    ranks[3].call("MPI_Send", 2, 3, comm=9, peer=1, tag=1, bytes=7)
    ranks[1].call("MPI_Recv", 2, 3, comm=9, peer=3, tag=1, received=7)
    ranks[0].call("MPI_Send", 2, 3, peer=3, tag=1, bytes=100)
    ranks[3].call("MPI_Recv", 4, 5, peer=0, tag=1, received=100)
    for number, rank in enumerate(ranks):
        sent = [number, 0, 2 * number, 5]
        rank.call("MPI_Alltoallv", 6, 7, bytes=sum(sent), received=99).counts(sent)
        rank.call("MPI_Allreduce", 8, 9, bytes=1000, received=1000)
    expected = np.array([[0, 0, 0 + 10, 5 + 100], [1, 0, 2, 5 + 10], [2 + 10, 0, 0, 5], [3, 10 + 7, 6, 0]])
    found = sent_in(script(tmp_path, ranks))
    assert found is not None
    assert found.tolist() == expected.tolist()


def test_a_torn_script_is_one_message(tmp_path: Path) -> None:
    ranks = [MadeRank(rank, 2).call("MPI_Alltoall", 0, 1, bytes=20, received=20) for rank in range(2)]
    path = script(tmp_path, ranks)
    whole = path.read_bytes()
    path.write_bytes(whole[:-48])
    with pytest.raises(DataError, match="no whole script"):
        sent_in(path)
