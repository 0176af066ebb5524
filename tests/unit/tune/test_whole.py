# SPDX-License-Identifier: BSD-3-Clause
"""The table that a command writes again."""

import re
from pathlib import Path

import pytest

from weft.errors import StudyError
from weft.host import read_host
from weft.mpi.alltoall import Evidence, Rule, SelectionTable
from weft.tune.whole import Asked, Tuning, write_if_changed

RULE = Rule(
    op="alltoall", nodes=(8, 8), bytes=(8, 512), algorithm="node.direct",
    evidence=Evidence(median_us=1.25, interval_us=(1, 1.5), pmpi_us=2, n=4),
)  # fmt: skip


def table(created: str, *rules: Rule, fabric: str = "here") -> SelectionTable:
    made = {"schema": "weft-tuning/1", "created": created, "platform": {"fabric": fabric}, "rules": rules}
    return SelectionTable.model_validate(made)


def test_the_same_table_made_later_leaves_the_file_as_it_was(tmp_path: Path) -> None:
    """`weft tune --check` begins a run with the file: changed, the run that was interrupted would not go on."""
    path = tmp_path / "tuning.json"
    write_if_changed(table("2026-01-01", RULE), path)
    first = path.read_bytes()
    write_if_changed(table("2026-01-02", RULE), path)
    assert path.read_bytes() == first
    for other in (table("2026-01-03"), table("2026-01-04", RULE, fabric="there")):
        write_if_changed(other, path)
        assert str(other.created).encode() in path.read_bytes()


def test_a_torn_table_is_written_anew(tmp_path: Path) -> None:
    path = tmp_path / "tuning.json"
    path.write_text('{"schema": "weft-tuning/1", "ru')
    write_if_changed(table("2026-01-01", RULE), path)
    assert b"node.direct" in path.read_bytes()


@pytest.mark.parametrize(
    ("asked", "says"),
    [
        (Asked(sizes=("8 B", "8 Q")), '--sizes "8 Q": "Q" is no unit'),
        (Asked(nodes=(2, 0)), "--nodes 0: there must be one at least"),
        (Asked(ranks_per_node=0), "--ranks-per-node 0"),
        (Asked(launches=0), "--launches 0"),
        (Asked(skew=(2, 1)), "--skew 1: it must be over 1"),
        (Asked(skew=(float("nan"),)), "--skew nan"),
        (Asked(skew=(2,), calls=("Alltoall",)), "--skew is of Alltoallv"),
    ],
)
def test_a_wrong_option_is_told_by_its_own_name(asked: Asked, says: str, tmp_path: Path) -> None:
    """Of a size or node the study's keys were told, and a zero was taken for the default."""
    with pytest.raises(StudyError, match=re.escape(says)):
        Tuning("message-bound", asked, tmp_path)


def test_on_this_host_its_own_cores_are_tuned(tmp_path: Path) -> None:
    """`weft tune`, whose default is this host, ended with "node.cores is not stated"."""
    what = Tuning("local", Asked(), tmp_path).what
    assert (what.nodes, what.ranks_per_node) == ((1,), read_host().cores)
