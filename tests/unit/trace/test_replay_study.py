# SPDX-License-Identifier: BSD-3-Clause
"""The study of a replay: how many nodes a trace takes."""

from pathlib import Path

import pytest

from made.traces import MadeRank
from weft.errors import StudyError
from weft.fabric import load_fabric
from weft.host import read_host
from weft.trace.replay import Asked, factor_of, prepare


def trace(folder: Path, ranks: int) -> Path:
    for rank in range(ranks):
        MadeRank(rank, ranks).call("MPI_Barrier", 100, 200).write(folder / "raw")
    return folder


def test_on_this_host_its_own_cores_play_a_trace(tmp_path: Path) -> None:
    """`weft replay TRACE --on local` ended with "local has 0 nodes of 1 core"."""
    study, made = prepare(trace(tmp_path, 1), [load_fabric("local")], Asked())
    assert made.ranks == 1
    assert "nodes = [1]" in study.read_text()


def test_too_many_ranks_are_refused_with_an_option_that_works(tmp_path: Path) -> None:
    ranks = 2 * (read_host().cores or 1)
    with pytest.raises(StudyError) as error:
        prepare(trace(tmp_path, ranks), [load_fabric("local")], Asked())
    assert error.value.remedy.endswith("share cores: --nodes 1")
    study, _ = prepare(tmp_path, [load_fabric("local")], Asked(1))
    assert "oversubscribe = true" in study.read_text()


def test_a_multiple_is_what_kernels_can_play() -> None:
    """Of x0.0004 they played nothing, and the bound "at least" had it all the same."""
    assert factor_of("x0.3333", None) == 0.333
    assert factor_of("x0", None) == 0
    with pytest.raises(StudyError, match=r"x0\.0004 is less than replays can play, a thousandth"):
        factor_of("x0.0004", None)
