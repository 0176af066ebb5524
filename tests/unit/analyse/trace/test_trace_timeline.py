# SPDX-License-Identifier: BSD-3-Clause
"""A stretch of a trace shows what a rank did when, whatever the edges of its columns cut."""

from pathlib import Path

import numpy as np
import pytest

from made.traces import MadeRank
from weft.analyse.trace.timeline import KINDS, kind_of, timeline
from weft.cli.app import main
from weft.errors import DataError
from weft.store.trace.convert import convert_trace
from weft.store.trace.folder import TraceFolder
from weft.store.trace.layout import CALLS

MS = 1_000_000


@pytest.fixture
def folder(tmp_path: Path) -> TraceFolder:
    """100 ms of two ranks, beginning at 1 s."""
    found = TraceFolder(tmp_path)
    for rank in (0, 1):
        made = MadeRank(rank, 2).call("MPI_Comm_dup", 1000 * MS, 1000 * MS)
        made.call("MPI_Alltoall", (1020 + 20 * rank) * MS, 1060 * MS)
        made.call("MPI_Recv", 1064 * MS, 1070 * MS, peer=1 - rank)
        made.call("MPI_Barrier", 1090 * MS, 1100 * MS).write(found.raw)
    convert_trace(found)
    return found


def test_each_column_has_the_share_of_each_kind(folder: TraceFolder) -> None:
    found = timeline(folder, None, None, columns=10)
    exchange, receive, barrier = (KINDS.index(name) for name in ("all-to-all", "receive", "barrier"))
    assert np.allclose(found.shares[0, exchange], [0, 0, 1, 1, 1, 1, 0, 0, 0, 0])
    assert np.allclose(found.shares[1, exchange], [0, 0, 0, 0, 1, 1, 0, 0, 0, 0])
    assert np.allclose(found.shares[0, receive], [0, 0, 0, 0, 0, 0, 0.6, 0, 0, 0])
    assert np.allclose(found.shares[0, barrier], [0] * 9 + [1])
    assert found.letters()[1] == "....AAr..B"


def test_a_stretch_cuts_the_calls_at_its_ends(folder: TraceFolder) -> None:
    found = timeline(folder, 0.03, 0.07, columns=4)
    assert found.letters() == {0: "AAAr", 1: ".AAr"}
    assert found.shares.max() <= 1


def test_a_stretch_outside_of_the_trace_is_refused(folder: TraceFolder, capsys: pytest.CaptureFixture[str]) -> None:
    for begin_s, end_s in ((0.2, 0.3), (0.05, 0.05), (0.05, 0.01)):
        with pytest.raises(DataError, match=r"the trace lasts 0\.1 s"):
            timeline(folder, begin_s, end_s)
    assert main(["trace", "show", str(folder.path), "--begin", "20 ms", "--end", "60 ms"]) == 0
    assert "0 |" + "A" * 100 + "|" in capsys.readouterr().out
    assert main(["trace", "show", str(folder.path), "--begin", "soon"]) == 2


def test_every_call_has_its_kind() -> None:
    kinds = {name: kind_of(name) for name in CALLS.values()}
    assert {kinds[f"MPI_{name}"] for name in ("Alltoall", "Alltoallv", "Ialltoallw")} == {"all-to-all"}
    assert {kinds[f"MPI_{name}"] for name in ("Bcast", "Ireduce", "Iallgatherv", "Exscan")} == {"other collective"}
    assert {kinds[f"MPI_{name}"] for name in ("Wait", "Testsome")} == {"wait or test"}
    assert {kinds[f"MPI_{name}"] for name in ("Send", "Isend", "Ssend", "Irsend")} == {"send"}
    assert {kinds[f"MPI_{name}"] for name in ("Recv", "Irecv", "Sendrecv")} == {"receive"}
    assert set(kinds.values()) == set(KINDS)
