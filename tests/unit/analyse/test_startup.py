# SPDX-License-Identifier: BSD-3-Clause
"""What starting an MPI program costs, from the records of every launch; and the component that only waits."""

import json
from pathlib import Path
from typing import Any

import pytest

from made.kept import copy_of
from made.view import load_view
from weft.analyse.tables.times import STARTUP
from weft.mpi.starting import waiting_component

FIVE, FOUR = "Open MPI v5.0.11, package: x", "Open MPI v4.1.4, package: x"
SECOND = 1_000_000_000


def started(folder: Path, init_s: tuple[float, ...], library: str, settings: dict[str, str] | None = None) -> Path:
    """A kept run of an exchange whose k-th launches took so long in MPI_Init; the last rank is 0.1 s slower."""
    run = copy_of("exchange", folder)
    for path in run.glob("launches/*.l?.json"):
        record: dict[str, Any] = json.loads(path.read_text())
        record.pop("checksum", None)
        record |= {"mpi_library": library, "settings": settings or {}}
        seconds = init_s[record["launch_index"] - 1]
        for rank in record["ranks"]:
            rank["init_ns"] = round(seconds * SECOND) + (SECOND // 10 if rank is record["ranks"][-1] else 0)
        path.write_text(json.dumps(record))
    for path in run.glob("cells/*.json"):
        record = json.loads(path.read_text())
        record.pop("checksum", None)
        cold = [segment for segment in record["segments"] if segment["phase"] == "cold"]
        for place, segment in enumerate(cold):
            segment["peers_met"] = 0 if place == 0 else record["ranks"] - 1
        path.write_text(json.dumps(record))
    return run


def test_a_row_for_each_number_of_ranks_has_both_times_of_every_launch(tmp_path: Path) -> None:
    run = started(tmp_path, (0.2, 0.3, 0.4), FOUR)
    view = load_view(run)
    rows = STARTUP.read(run)
    assert [row["ranks"] for row in rows] == sorted({launch.ranks for launch in view.plan.launches})
    two = next(row for row in rows if row["ranks"] == 2)
    cells = [cell.id for cell in view.plan.measured if cell.ranks == 2]
    assert two["launches"] == 1 + 3 * len(cells)  # the floor's one launch
    assert two["init_high_s"] == pytest.approx(0.5)  # the slowest rank decides
    cold = [row for row in view.rows if (row["call"], row["phase"]) == ("A", "cold") and row["ranks"] == 2]
    assert two["call"] == "A"
    assert min(row["min_s"] or 0 for row in cold) <= (two["first_s"] or 0) <= max(row["max_s"] or 0 for row in cold)
    assert not [row for row in view.findings if row["rule"] == "start-up"]


def test_a_component_that_only_waits_is_named_unless_settings_leave_it_out(tmp_path: Path) -> None:
    slow, quick = (1.4, 1.5, 1.3), {"OMPI_MCA_btl": "^ofi,openib"}
    waits = [row for row in load_view(started(tmp_path / "a", slow, FIVE)).findings if row["rule"] == "start-up"]
    assert waits and all("btl/ofi" in row["what"] and "OMPI_MCA_btl=^ofi" in row["remedy"] for row in waits)
    without = load_view(started(tmp_path / "b", slow, FIVE, quick))
    assert not [row for row in without.findings if row["rule"] == "start-up"]


@pytest.mark.parametrize(
    ("version", "settings", "init_s", "named"),
    [
        (FIVE, {}, 1.2, True),
        (FIVE, {"btl": "self,ofi,sm"}, 1.2, True),
        (FIVE, {"btl": "self,sm"}, 1.2, False),
        (FIVE, {"OMPI_MCA_btl": "^ofi"}, 1.2, False),
        (FIVE, {"OMPI_MCA_btl": "^openib"}, 1.2, True),
        (FIVE, {}, 0.9, False),
        (FOUR, {}, 1.2, False),
        ("MPICH Version: 4.0.2", {}, 1.2, False),
    ],
)
def test_only_a_rank_that_had_time_to_wait_has_waited(
    version: str, settings: dict[str, str], init_s: float, named: bool
) -> None:
    assert bool(waiting_component(version, settings, init_s)) is named


def test_runs_of_earlier_kernels_have_no_rows(tmp_path: Path) -> None:
    run = copy_of("exchange", tmp_path)
    load_view(run)
    assert STARTUP.read(run) == []
