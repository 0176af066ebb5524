# SPDX-License-Identifier: BSD-3-Clause
"""The ladder with real ranks: each knob that is turned makes its own step grow, and no other."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest
from real_weft import MPIS, Weft

from weft.analyse.tables.ladder import LADDER, LadderRow

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
#: Work of others moves steps too, for a while: one of some pairs of runs must show the knob alone.
ATTEMPTS = 4
pytestmark = pytest.mark.timeout(600)
#: How much the step of a knob grows at least, and the others at most. Measured: 3 to 6 and 5 at a load of 15.
GROWS, STAYS = 1.5, 1.4
BAD = {"OMPI_MCA_coll_tuned_use_dynamic_rules": "1", "OMPI_MCA_coll_tuned_alltoall_algorithm": "3"}
NO_SINGLE_COPY = {"OMPI_MCA_btl_vader_single_copy_mechanism": "none"}


@pytest.fixture
def measured(make: Callable[..., Weft], tmp_path: Path) -> Callable[..., dict[str, LadderRow]]:
    """Measures the ladder with some variables set; Debian's Open MPI."""
    if not MPIS["site"].is_file():
        pytest.skip(f"{MPIS['site']} is not here")
    count = 0

    def run(environment: dict[str, str]) -> dict[str, LadderRow]:
        nonlocal count
        count += 1
        weft = make(3, "60 s", STUDY, **environment)
        weft.mpicxx, weft.folder, weft.program = MPIS["site"], tmp_path / f"run{count}", ("-m", "weft")
        done = weft.run(300)
        assert done.returncode == 0, done.stderr
        return {row["step"]: row for row in LADDER.read(weft.folder)}

    return run


@pytest.mark.parametrize(
    ("turned", "grows", "named"),
    [
        (BAD, "algorithm", "coll_tuned_alltoall_algorithm (modified_bruck; "),
        (NO_SINGLE_COPY, "messages", "btl_vader_single_copy_mechanism = none"),
    ],
)
def test_a_knob_makes_its_own_step_grow_and_no_other(
    measured: Callable[..., dict[str, LadderRow]], turned: dict[str, str], grows: str, named: str
) -> None:
    seen: list[dict[str, float]] = []
    for _ in range(ATTEMPTS):
        usual, after = measured({}), measured(turned)
        assert named in after[grows]["mover"], after[grows]["mover"]
        factors = {
            step: (after[step]["factor"] or 0.0) / (usual[step]["factor"] or 1.0)
            for step in usual
            if usual[step]["factor"] is not None
        }
        if factors[grows] > GROWS and all(each < STAYS for step, each in factors.items() if step != grows):
            return
        seen.append(factors)
    pytest.fail(f"{turned} does not make {grows} grow alone: {seen}")


def test_a_rank_that_comes_late_is_told_from_a_slow_algorithm(measured: Callable[..., dict[str, LadderRow]]) -> None:
    """It comes 20 ms late. The rank that waits spins, so where others want its core it loses it for a while, and the
    call takes that long after the last arrival: there only the simulator can tell (tests/simulated/test_why.py).
    """
    seen: list[dict[str, float]] = []
    for _ in range(ATTEMPTS):
        seconds = {step: row["seconds"] for step, row in measured({"WEFT_PLANT": "late"}).items()}
        late = seconds["arrival"] - seconds["algorithm"]
        quick = seconds["algorithm"] < late / 4 or os.getloadavg()[0] > 2 * len(os.sched_getaffinity(0))
        if late > 15e-3 and quick and seconds["contention"] < late / 4:
            return
        seen.append(seconds)
    pytest.fail(f"20 ms were planted: {seen}")
